/* Launches an exported softmax with the CUDA driver and nothing else: no Hone, no toolkit, no file beside the program.
 *
 *   hone export softmax --dtype f32 --shape rows=512,cols=2048 --config default --arch sm_90a --out . --header
 *   gcc -std=c99 main.c -o softmax $(pkg-config --cflags hone-plugin) -ldl -lm \
 *     -DPLAN_FILE='"softmax.f32.512x2048.sm_90a.h"' -DPLAN=softmax_f32_512x2048_sm_90a
 *   ./softmax
 *
 * A program of its own writes #include "softmax.f32.512x2048.sm_90a.h" and the plan's name. */
#include PLAN_FILE

#include <math.h>
#include <stdlib.h>

static int run(hone_plan_driver* driver, hone_plan_loaded* softmax, float* values, size_t count) {
  const size_t bytes = count * sizeof *values;
  uint64_t x = 0, y = 0; /* CUdeviceptr */
  void* arguments[] = {NULL, NULL};
  int error = driver->memory_allocate(&x, bytes);
  arguments[0] = &x; /* as of cuLaunchKernel: where each value is */
  arguments[1] = &y;
  error = error != 0 ? error : driver->memory_allocate(&y, bytes);
  error = error != 0 ? error : driver->copy_to_device(x, values, bytes);
  error = error != 0 ? error : hone_plan_launch(softmax, NULL, arguments, 2);
  error = error != 0 ? error : driver->context_synchronize();
  error = error != 0 ? error : driver->copy_to_host(values, y, bytes);
  driver->memory_free(x);
  driver->memory_free(y);
  return error;
}

int main(void) {
  hone_plan_driver driver;
  hone_plan_loaded softmax;
  char message[256] = "";
  const size_t rows = (size_t)PLAN.problem[0], columns = (size_t)PLAN.problem[1], count = rows * columns;
  float* const values = (float*)malloc(count * sizeof *values);
  double sum = 0.0;
  size_t i;
  int error;
  if (values == NULL || hone_plan_use_device(&driver, 0, message, sizeof message) != 0) {
    fprintf(stderr, "%s\n", message);
    free(values);
    return 1;
  }
  for (i = 0; i < count; ++i) {
    values[i] = sinf((float)i);
  }
  error = hone_plan_load(&softmax, &PLAN);
  if (error == 0) {
    error = run(&driver, &softmax, values, count);
    hone_plan_unload(&softmax);
  }
  if (error != 0) {
    fprintf(stderr, "%s\n", softmax.message[0] != 0 ? softmax.message : "the CUDA driver refused a call");
  }
  for (i = 0; i < columns; ++i) {
    sum += values[i];
  }
  printf("{\"shape\": \"%s\", \"row_sum\": %.6f}\n", PLAN.shape, sum);
  free(values);
  return error == 0 && fabs(sum - 1.0) < 1e-3 ? 0 : 1;
}
