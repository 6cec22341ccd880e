/* A plan with all that one can have, written by hand, and what the driver is told of it (fake_cuda.c). */
#include <hone/plan.h>
#include <stdlib.h>

static const uint64_t kCode[] = {0x464c457f};
static const uint64_t kProblem[] = {3, 5};
static const hone_plan_parameter kShown[] = {
    {HONE_PLAN_ARGUMENT, 0}, {HONE_PLAN_ARGUMENT, 3}, {HONE_PLAN_RUN_INDEX, 7}, {HONE_PLAN_TENSOR_MAP, 0}, {HONE_PLAN_PROBLEM, 0}};
static const hone_plan_parameter kPlain[] = {{HONE_PLAN_ARGUMENT, 1}, {HONE_PLAN_ARGUMENT, 2}};
static const hone_plan_argument kArguments[] = {{"x", "f32", HONE_PLAN_IN, 0, 16, 64},
                                                {"scratch", "u8", HONE_PLAN_WORKSPACE, 1, 32, 32},
                                                {"y", "f32", HONE_PLAN_OUT, 1, 16, 64},
                                                {"alpha", "f32", HONE_PLAN_SCALAR, 0, 0, 4}};
static const hone_plan_function kFunctions[] = {{"shows", 100000, 16}, {"plain", 0, 1}};
static const hone_plan_pass kPasses[] = {{0, {2, 3, 4}, {128, 1, 1}, {16, 1, 1}, 100000, 0, 1, 5, kShown},
                                         {1, {1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 1, 0, 2, kPlain}};
static const hone_plan_constant kConstants[] = {{"weights", 8, 0}};
static const hone_plan_tensor_map kMaps[] = {{0, 7, 2, 3, 2, {4, 2, 0, 0, 0}, {8, 2, 0, 0, 0}, {32, 0, 0, 0, 0}, 4}};
static const hone_plan kPlan = {"kernel", "f32", "n=16", "block=128", "sm_90a",   kCode,      sizeof kCode, kProblem,   4,
                                2,        2,     1,      1,           kArguments, kFunctions, kPasses,      kConstants, kMaps};

/* What the plan itself allocates it must free, whatever fails. */
static int run(hone_plan_driver* driver, uint64_t* x, uint64_t* y) {
  hone_plan_loaded loaded;
  float alpha = 0.5F, values[16] = {2.5F, 0.0F};
  void* arguments[] = {x, y, &alpha};
  int code = 0;
  if (driver->memory_allocate(x, 64) != 0 || driver->memory_allocate(y, 64) != 0 ||
      driver->copy_to_device(*x, values, sizeof values) != 0) {
    return 1;
  }
  if (hone_plan_load(&loaded, &kPlan) != 0) {
    printf("%s\n", loaded.message);
    return 2;
  }
  if (hone_plan_launch(&loaded, NULL, arguments, 2) != HONE_PLAN_INVALID) { /* one is missing: nothing is launched */
    code = 3;
  } else {
    printf("%s\n", loaded.message);
    if (hone_plan_launch(&loaded, (void*)(intptr_t)9, arguments, 3) != 0) {
      printf("%s\n", loaded.message);
      code = 4;
    }
  }
  hone_plan_unload(&loaded);
  return code;
}

int main(void) {
  hone_plan_driver driver;
  char message[256] = "";
  uint64_t x = 0, y = 0;
  int code;
  if (hone_plan_use_device(&driver, 0, message, sizeof message) != 0) {
    printf("%s\n", message);
    return 1;
  }
  code = run(&driver, &x, &y);
  driver.memory_free(x);
  driver.memory_free(y);
  return code;
}
