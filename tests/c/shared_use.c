/* One engine, 16 threads; then 4 forked processes, each of which is refused what it inherited and opens an engine of its own. */
#define _POSIX_C_SOURCE 200809L

#include <hone/hone.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 16, kChildren = 4, kRounds = 200, kRows = 3, kMostColumns = 4, kBytes = kRows * kMostColumns * (int)sizeof(float) };

typedef struct worker {
  pthread_t thread;
  hone_engine* engine;
  const hone_bound* softmax;
  hone_buffer *x, *y;
  char failure[256];
} worker;

static int failed(worker* of, hone_status status, hone_error* error, const char* doing) {
  if (status != HONE_SUCCESS) {
    snprintf(of->failure, sizeof of->failure, "%s: %s", doing, hone_error_message(error));
    hone_error_free(error);
  }
  return status != HONE_SUCCESS;
}

/* Of equal numbers, softmax makes 1 / columns. The cpu device's memory is the host's. */
static int launch(worker* of, const hone_kernel* kernel, int64_t columns) {
  const hone_argument arguments[] = {{.data = hone_buffer_address(of->x), .type = HONE_TYPE_F32},
                                     {.data = hone_buffer_address(of->y), .type = HONE_TYPE_F32}};
  hone_error* error = NULL;
  float* const y = (float*)hone_buffer_address(of->y);
  memset(y, 0, kBytes);
  if (failed(of, hone_launch(kernel, NULL, arguments, 2, &error), error, "launch")) {
    return 1;
  }
  for (int64_t i = 0; i < kRows * columns; ++i) {
    if (y[i] < 0.999F / (float)columns || y[i] > 1.001F / (float)columns) {
      snprintf(of->failure, sizeof of->failure, "element %d of %d columns is %g", (int)i, (int)columns, (double)y[i]);
      return 1;
    }
  }
  return 0;
}

static void* work(void* argument) {
  worker* const of = (worker*)argument;
  for (int round = 0; round < kRounds && of->failure[0] == 0; ++round) {
    const int64_t shape[] = {kRows, 2 + round % (kMostColumns - 1)};
    const hone_extent named[] = {{"rows", shape[0]}, {"cols", shape[1]}};
    const hone_kernel* view = NULL;
    hone_kernel* kernel = NULL;
    hone_error* error = NULL;
    if (failed(of, hone_bound_find(of->softmax, shape, 2, &view, &error), error, "bound lookup") || launch(of, view, shape[1]) ||
        failed(of, hone_kernel_find(of->engine, "softmax", "f32", named, 2, &kernel, &error), error, "lookup") ||
        launch(of, kernel, shape[1])) {
      break;
    }
    hone_kernel_free(kernel);
    if (hone_kernel_find(of->engine, "sofmax", "f32", named, 2, &kernel, &error) != HONE_ERROR_NOT_FOUND ||
        strstr(hone_error_message(error), "softmax") == NULL) {
      snprintf(of->failure, sizeof of->failure, "an unknown name: %s", hone_error_message(error));
    }
    hone_error_free(error);
  }
  return NULL;
}

static hone_engine* open_engine(worker* of) {
  const hone_engine_options options = {.size = sizeof options, .store = "/nonexistent/hone.db", .device = "cpu"};
  const char* const names[] = {"rows", "cols"};
  hone_bound* bound = NULL;
  hone_engine* engine = NULL;
  hone_error* error = NULL;
  if (!failed(of, hone_engine_open(&options, &engine, &error), error, "open")) {
    failed(of, hone_bind(engine, "softmax", "f32", names, 2, NULL, 0, &bound, &error), error, "bind");
  }
  of->engine = engine;
  of->softmax = bound;
  return engine;
}

static void allocate(worker* of) {
  hone_error* error = NULL;
  if (failed(of, hone_buffer_allocate(of->engine, kBytes, &of->x, &error), error, "allocate") ||
      failed(of, hone_buffer_allocate(of->engine, kBytes, &of->y, &error), error, "allocate")) {
    return;
  }
  memset(hone_buffer_address(of->x), 0, kBytes);
}

static void close_all(worker* of) {
  hone_buffer_free(of->x);
  hone_buffer_free(of->y);
  hone_bound_free((hone_bound*)of->softmax);
  hone_engine_close(of->engine);
}

/* In a fork: what was inherited is refused with a reason, and can be freed; an engine of its own works. */
static int child(worker* inherited) {
  const int64_t shape[] = {kRows, 4};
  const hone_kernel* view = NULL;
  hone_buffer* buffer = NULL;
  hone_tuning* tuning = NULL;
  hone_error* error = NULL;
  worker own;
  memset(&own, 0, sizeof own);
  alarm(120);
  if (hone_bound_find(inherited->softmax, shape, 2, &view, &error) != HONE_ERROR_UNAVAILABLE ||
      strstr(hone_error_message(error), "fork") == NULL || view != NULL) {
    return 2;
  }
  hone_error_free(error);
  if (hone_buffer_allocate(inherited->engine, kBytes, &buffer, NULL) != HONE_ERROR_UNAVAILABLE ||
      hone_tune(inherited->engine, "softmax", "f32", NULL, 0, NULL, &tuning, NULL) != HONE_ERROR_UNAVAILABLE) {
    return 3;
  }
  close_all(inherited);
  if (open_engine(&own) == NULL) {
    return 4;
  }
  allocate(&own);
  work(&own);
  close_all(&own);
  if (own.failure[0] != 0) {
    fprintf(stderr, "child: %s\n", own.failure);
  }
  return own.failure[0] != 0 ? 5 : 0;
}

int main(void) {
  static worker workers[kThreads];
  pid_t children[kChildren];
  int bad = 0, started = 0;
  open_engine(&workers[0]);
  for (int i = 0; i < kThreads && workers[0].failure[0] == 0; ++i) {
    workers[i].engine = workers[0].engine;
    workers[i].softmax = workers[0].softmax;
    allocate(&workers[i]);
  }
  for (; started < kThreads && workers[0].failure[0] == 0; ++started) {
    pthread_create(&workers[started].thread, NULL, work, &workers[started]);
  }
  for (int i = 0; i < started; ++i) {
    pthread_join(workers[i].thread, NULL);
  }
  for (int i = 0; i < kThreads; ++i) {
    if (workers[i].failure[0] != 0) {
      fprintf(stderr, "thread %d: %s\n", i, workers[i].failure);
      bad = 1;
    }
  }
  for (int i = 0; i < kChildren; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      _exit(child(&workers[0]));
    }
  }
  for (int i = 0; i < kChildren; ++i) {
    int status = -1;
    if (waitpid(children[i], &status, 0) != children[i] || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fprintf(stderr, "child %d ended with status %d\n", i, status);
      bad = 1;
    }
  }
  work(&workers[0]); /* the parent goes on */
  bad = bad || workers[0].failure[0] != 0;
  for (int i = 1; i < kThreads; ++i) {
    hone_buffer_free(workers[i].x);
    hone_buffer_free(workers[i].y);
  }
  close_all(&workers[0]);
  return bad;
}
