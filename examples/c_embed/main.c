/* Tunes softmax for one shape, looks the winner up, launches it, and checks a row of the result: Hone from C (docs/c.md).
 *
 *   gcc -std=c99 main.c -o tuned_softmax_c $(pkg-config --cflags --libs hone) -lm
 *   ./tuned_softmax_c S.db 512 2048 20          20 seconds on the best device here
 *   ./tuned_softmax_c S.db 32 256 0.5 cpu       on the host's cores: no GPU is needed
 *
 * With 0 seconds it tunes nothing, and launches what an earlier run found. A program with CUDA code of its own passes its
 * own pointers and stream; this one uses Hone's. */
#include <hone/hone.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What is open, so that one place closes it. */
typedef struct program {
  hone_engine* engine;
  hone_tuning* tuning;
  hone_kernel* softmax;
  hone_buffer* x;
  hone_buffer* y;
  float* values;
} program;

static int32_t show(void* data, const hone_progress* progress) {
  (void)data;
  fprintf(stderr, "\r%5lld trials  %6.1f s  best %.1f us", (long long)progress->trials, progress->seconds, progress->best_us);
  return 0; /* anything else ends the session */
}

static hone_status tune(program* p, const hone_extent* shape, double seconds, hone_error** error) {
  hone_tuning_options options = {.size = sizeof options, .seconds = seconds, .on_progress = show};
  hone_tuning_info info = {.size = sizeof info};
  hone_status status = hone_tune(p->engine, "softmax", "f32", shape, 2, &options, &p->tuning, error);
  if (status == HONE_SUCCESS) {
    status = hone_tuning_describe(p->tuning, &info, error);
  }
  if (status == HONE_SUCCESS) {
    fprintf(stderr, "\rdefault %.1f us, best %.1f us after %lld trials: %s\n", info.default_us, info.best_us, (long long)info.trials,
            info.configuration);
  }
  return status;
}

static hone_status launch(program* p, const hone_extent* shape, hone_error** error) {
  const size_t count = (size_t)(shape[0].value * shape[1].value), bytes = count * sizeof(float);
  hone_status status = hone_kernel_find(p->engine, "softmax", "f32", shape, 2, &p->softmax, error);
  p->values = malloc(bytes);
  for (size_t i = 0; p->values != NULL && i < count; ++i) {
    p->values[i] = sinf((float)i);
  }
  if (status == HONE_SUCCESS) {
    status = hone_buffer_allocate(p->engine, bytes, &p->x, error);
  }
  if (status == HONE_SUCCESS) {
    status = hone_buffer_allocate(p->engine, bytes, &p->y, error);
  }
  if (status == HONE_SUCCESS) {
    status = hone_upload(p->engine, hone_buffer_address(p->x), p->values, bytes, error);
  }
  if (status == HONE_SUCCESS) {
    /* Sizes and types are optional, and are checked where they are given. */
    const hone_argument arguments[] = {{.data = hone_buffer_address(p->x), .bytes = bytes, .type = HONE_TYPE_F32},
                                       {.data = hone_buffer_address(p->y), .bytes = bytes, .type = HONE_TYPE_F32}};
    status = hone_launch(p->softmax, NULL, arguments, 2, error);
  }
  if (status == HONE_SUCCESS) {
    status = hone_synchronize(p->engine, error);
  }
  if (status == HONE_SUCCESS) {
    status = hone_download(p->engine, p->values, hone_buffer_address(p->y), bytes, error);
  }
  return status;
}

static hone_status run(program* p, const hone_extent* shape, double seconds, hone_error** error) {
  hone_kernel_info info = {.size = sizeof info};
  hone_status status = seconds > 0.0 ? tune(p, shape, seconds, error) : HONE_SUCCESS;
  if (status == HONE_SUCCESS) {
    status = launch(p, shape, error);
  }
  if (status == HONE_SUCCESS) {
    status = hone_kernel_describe(p->softmax, &info, error);
  }
  if (status == HONE_SUCCESS) {
    double sum = 0.0;
    for (int64_t i = 0; i < shape[1].value; ++i) {
      sum += p->values[i];
    }
    printf("{\"source\": \"%s\", \"config\": \"%s\", \"row_sum\": %.6f}\n", hone_source_name(info.source), info.configuration, sum);
    status = fabs(sum - 1.0) < 1e-3 ? HONE_SUCCESS : HONE_ERROR_DEVICE;
  }
  return status;
}

int main(int argc, char** argv) {
  program p = {NULL, NULL, NULL, NULL, NULL, NULL};
  hone_error* error = NULL;
  hone_status status;
  if (argc != 5 && argc != 6) {
    fputs("usage: tuned_softmax_c STORE ROWS COLS SECONDS [DEVICE]\n", stderr);
    return 2;
  }
  const hone_engine_options options = {.size = sizeof options, .store = argv[1], .device = argc == 6 ? argv[5] : NULL};
  const hone_extent shape[] = {{"rows", atoll(argv[2])}, {"cols", atoll(argv[3])}};
  status = hone_engine_open(&options, &p.engine, &error);
  if (status == HONE_SUCCESS) {
    status = run(&p, shape, atof(argv[4]), &error);
  }
  if (status != HONE_SUCCESS) {
    fprintf(stderr, "tuned_softmax_c: %s\n", error != NULL ? hone_error_message(error) : "a row of a softmax sums to 1, this one does not");
  }
  hone_error_free(error);
  hone_kernel_free(p.softmax);
  hone_buffer_free(p.x); /* buffers before their engine */
  hone_buffer_free(p.y);
  hone_tuning_free(p.tuning);
  hone_engine_close(p.engine);
  free(p.values);
  return status == HONE_SUCCESS ? 0 : 1;
}
