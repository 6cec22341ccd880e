#pragma once
// What measures on a device, here or elsewhere.

#include <optional>
#include <string>
#include <vector>

#include "engine/worker/requests.hpp"

namespace hone {

class MeasuringWorkers {
 public:
  virtual ~MeasuringWorkers() = default;

  /// Begins, with the compiled reference where there is one; else it is compiled meanwhile.
  virtual Result<void> start(const std::optional<Compiled>& reference) = 0;
  /// Begins without the reference, which comes by use_reference(), and again where the process is gone.
  virtual Result<void> revive() = 0;
  /// The reference that another device's were started with.
  virtual void use_reference(const Compiled& reference) = 0;
  /// Ends all that measure, for good.
  virtual void close() = 0;
  /// What processes to come need not find out: the kinds of inputs that the default is wrong for, to which they hold no configuration, and
  /// those that it is right for.
  virtual void use_verdicts(const std::vector<std::string>& dropped, const std::vector<std::string>& held) = 0;
  /// From now on, once a process was lost, one more has the device open and, where memory allows it, its buffers filled.
  virtual void keep_standby() = 0;
  /// Kills the process that measures. The other, if there is one, takes its place at once; where the dead one `hung`, once the device has
  /// let go of what ran on it.
  virtual void retire(bool hung) = 0;

  [[nodiscard]] virtual bool ready() const = 0;
  /// Of the process that measures. Only when it is ready, and one request at a time.
  [[nodiscard]] virtual Requests& worker() = 0;
  /// The one that stands by opens the device or fills its buffers: what runs meanwhile has to share the device with a reference.
  [[nodiscard]] virtual bool fills_standby() const = 0;
  /// Another session holds the device.
  [[nodiscard]] virtual bool device_is_taken() const = 0;
};

}  // namespace hone
