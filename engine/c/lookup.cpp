#include "engine/c/engine.hpp"
#include "engine/c/kernel.hpp"

struct hone_bound {
  hone::BoundKernel kernel;
};

namespace hone::c {
namespace {

using Find = Result<KernelView> (BoundKernel::*)(std::span<const std::int64_t>) const;

Result<void> find_bound(const hone_bound* bound, Find find, std::span<const std::int64_t> extents, const hone_kernel** found) {
  HONE_ASSIGN(const KernelView view, (bound->kernel.*find)(extents));
  *found = view_of(*view);
  return {};
}

}  // namespace
}  // namespace hone::c

using namespace hone;

hone_status hone_kernel_find(hone_engine* engine, const char* kernel, const char* dtypes, const hone_extent* extents, size_t extent_count,
                             hone_kernel** found, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(found, "found");
    hone_engine& known = c::need(engine, "engine");
    c::need(kernel, "kernel");
    const Shape shape = c::shape_of(extents, extent_count, "extents");
    HONE_ASSIGN(const DTypes types, c::dtypes_of(known, kernel, dtypes));
    HONE_ASSIGN(Kernel made, known.engine.kernel(kernel, types, shape));
    *found = c::owned(std::move(made));
    return {};
  });
}

hone_status hone_kernel_copy(const hone_kernel* kernel, hone_kernel** copy, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(copy, "copy");
    *copy = c::owned(c::kernel_of(kernel));
    return {};
  });
}
void hone_kernel_free(hone_kernel* kernel) { delete reinterpret_cast<Kernel*>(kernel); }

hone_status hone_bind(hone_engine* engine, const char* kernel, const char* dtypes, const char* const* names, size_t name_count,
                      const hone_extent* fixed, size_t fixed_count, hone_bound** bound, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(bound, "bound");
    hone_engine& known = c::need(engine, "engine");
    c::need(kernel, "kernel");
    std::vector<std::string> extents = c::texts_of(names, name_count, "names");
    const Shape shape = c::shape_of(fixed, fixed_count, "fixed");
    HONE_ASSIGN(const DTypes types, c::dtypes_of(known, kernel, dtypes));
    HONE_ASSIGN(BoundKernel made, known.engine.bind(kernel, types, std::move(extents), shape));
    *bound = new hone_bound{std::move(made)};
    return {};
  });
}
void hone_bound_free(hone_bound* bound) { delete bound; }

hone_status hone_bound_find(const hone_bound* bound, const int64_t* extents, size_t count, const hone_kernel** found, hone_error** error) {
  return c::call(error, __func__, [&] {
    c::clear(found, "found");
    return c::find_bound(&c::need(bound, "bound"), &BoundKernel::find, c::need_all(extents, count, "extents"), found);
  });
}

hone_status hone_bound_find_at_once(const hone_bound* bound, const int64_t* extents, size_t count, const hone_kernel** found,
                                    hone_error** error) {
  return c::call(error, __func__, [&] {
    c::clear(found, "found");
    return c::find_bound(&c::need(bound, "bound"), &BoundKernel::find_at_once, c::need_all(extents, count, "extents"), found);
  });
}
