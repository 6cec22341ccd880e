#pragma once
// What a session on several devices knows of them by its control: the default configuration, timed on each now and then.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

/// How the devices of a session compare, which of them has to run the control next, and which does not belong with the others. Two controls
/// decide, as one may have been disturbed.
class Controls {
 public:
  /// `bound`: by how much more time than on the fastest device the control may take on another; 0.1 is a tenth.
  Controls(std::size_t devices, double bound);

  /// One more device takes part.
  void add() { devices_.emplace_back(); }
  /// The time that all others are brought to: that of the default's trial.
  void set_reference(double us) { reference_us_ = us; }
  /// The control took `us` on the device, and the run took `seconds` of it.
  void ran(std::size_t device, double us, double seconds);
  void failed(std::size_t device, const std::string& why);
  /// A trial kept the device for so long.
  void spent(std::size_t device, double seconds) { devices_.at(device).seconds_since += seconds; }
  /// The device takes no part any more: it is compared with no other.
  void leave(std::size_t device) { devices_.at(device).gone = true; }

  /// It must run the control before it takes a trial: it never did; its last is long ago; it seems off; or another does, and is compared
  /// with it.
  [[nodiscard]] bool due(std::size_t device) const;
  /// It never ran one.
  [[nodiscard]] bool is_new(std::size_t device) const { return devices_.at(device).latest_us.empty(); }
  /// What times of the device are multiplied by; 1 until it has run a control and the reference is known.
  [[nodiscard]] double factor(std::size_t device) const;
  /// The control failed on it again and again: that may be the kernel's doing as well as the device's.
  [[nodiscard]] bool fails(std::size_t device) const;
  /// Why it should leave, if it should.
  [[nodiscard]] std::optional<std::string> verdict(std::size_t device) const;

 private:
  struct Device {
    std::vector<double> latest_us;  ///< of its last controls, the last one at the end
    double seconds_since = 0.0;     ///< that trials have taken since
    double control_seconds = 0.0;
    std::uint64_t ran_at = 0;     ///< the number of its last control among all
    std::uint64_t off_since = 0;  ///< of the first of those that were off, one after the other; 0: it is not off
    int off = 0, failures = 0;
    std::string why;
    bool gone = false;
  };
  /// Of the other devices' last controls.
  [[nodiscard]] std::optional<double> fastest_beside(std::size_t device) const;
  [[nodiscard]] bool is_off(std::size_t device) const;
  /// All others have run a control since this one was off for the first time.
  [[nodiscard]] bool is_compared(std::size_t device) const;

  std::vector<Device> devices_;
  double bound_;
  double reference_us_ = 0.0;
  std::uint64_t runs_ = 0;
};

}  // namespace hone
