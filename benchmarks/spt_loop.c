/* The same system as `spt` on one CPU and four GPUs, by hand: each task joins the queue in which it would end first,
 * and a device that falls idle takes the shortest task of its queue, a binary heap. Columns as in eft_loop.c. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define DEVICES 16

typedef struct {
  double seconds;
  int64_t row;
} entry;

typedef struct {
  entry *heap;
  int64_t size, capacity;
  double running_end, free_at; /* end of what runs, and of what waits too */
} queue;

static int before(entry a, entry b) { return a.seconds < b.seconds || (a.seconds == b.seconds && a.row < b.row); }

static void push(queue *q, entry new) {
  if (q->size == q->capacity) {
    q->capacity = q->capacity ? 2 * q->capacity : 64;
    q->heap = realloc(q->heap, q->capacity * sizeof(entry));
  }
  int64_t at = q->size++;
  while (at && before(new, q->heap[(at - 1) / 2])) {
    q->heap[at] = q->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  q->heap[at] = new;
}

static entry pop(queue *q) {
  entry first = q->heap[0], last = q->heap[--q->size];
  int64_t at = 0, child;
  while ((child = 2 * at + 1) < q->size) {
    if (child + 1 < q->size && before(q->heap[child + 1], q->heap[child])) child++;
    if (before(last, q->heap[child])) break;
    q->heap[at] = q->heap[child];
    at = child;
  }
  q->heap[at] = last;
  return first;
}

static void start(queue *q, int64_t device, entry task, double begin, double *gpu_start, double *cpu_start,
                  double *finish) {
  q->running_end = begin + task.seconds;
  gpu_start[task.row] = device ? begin : NAN;
  cpu_start[task.row] = device ? NAN : begin;
  finish[task.row] = q->running_end;
}

void spt_loop(int64_t count, const double *base_of, const double *intensity, const double *memory,
              const double *arrival, int64_t devices, double bandwidth, double gpu_memory, double *gpu_fraction,
              int32_t *gpu, int32_t *cpu, double *gpu_start, double *cpu_start, double *finish, uint8_t *status) {
  queue queues[DEVICES] = {0};
  for (int64_t i = 0; i <= count; i++) {
    double now = i < count ? arrival[i] : INFINITY;
    for (int64_t d = 0; d < devices; d++) {
      queue *q = &queues[d];
      while (q->size && q->running_end <= now) {
        start(q, d, pop(q), q->running_end, gpu_start, cpu_start, finish);
        if (!q->size) q->free_at = q->running_end; /* a sum of what came and went is off by rounding */
      }
    }
    if (i == count) break;
    double base = base_of[i];
    double on_gpu = base / (1.0 + 3.0 * intensity[i]) + memory[i] / bandwidth;
    double best = (now > queues[0].free_at ? now : queues[0].free_at) + base;
    int64_t device = 0;
    if (memory[i] <= gpu_memory)
      for (int64_t d = 1; d < devices; d++) {
        double end = (now > queues[d].free_at ? now : queues[d].free_at) + on_gpu;
        if (end < best) {
          best = end;
          device = d;
        }
      }
    queue *q = &queues[device];
    entry task = {device ? on_gpu : base, i};
    q->free_at = best;
    status[i] = 0;
    gpu_fraction[i] = device ? 1.0 : 0.0;
    gpu[i] = device ? (int32_t)device : -1;
    cpu[i] = device ? -1 : 0;
    if (!q->size && q->running_end <= now)
      start(q, device, task, now, gpu_start, cpu_start, finish);
    else
      push(q, task);
  }
  for (int64_t d = 0; d < devices; d++) free(queues[d].heap);
}
