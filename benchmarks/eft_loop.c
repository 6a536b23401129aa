/* The same system as `eft` on one CPU and four GPUs, by hand: what a C programmer would write.
 * Reads the task columns (base durations among them, as the simulator does), computes the times on both
 * classes, writes the placement columns. */
#include <math.h>
#include <stdint.h>

void eft_loop(int64_t count, const double *base_of, const double *intensity, const double *memory,
              const double *arrival, int64_t devices, double bandwidth, double gpu_memory, double *gpu_fraction,
              int32_t *gpu, int32_t *cpu, double *gpu_start, double *cpu_start, double *finish, uint8_t *status) {
  double free_at[16] = {0};
  for (int64_t i = 0; i < count; i++) {
    double base = base_of[i];
    double on_gpu = base / (1.0 + 3.0 * intensity[i]) + memory[i] / bandwidth;
    double start = arrival[i] > free_at[0] ? arrival[i] : free_at[0];
    double best = start + base;
    int64_t device = 0;
    if (memory[i] <= gpu_memory)
      for (int64_t d = 1; d < devices; d++) {
        double s = arrival[i] > free_at[d] ? arrival[i] : free_at[d];
        if (s + on_gpu < best) {
          best = s + on_gpu;
          start = s;
          device = d;
        }
      }
    free_at[device] = best;
    finish[i] = best;
    status[i] = 0;
    if (device) {
      gpu_fraction[i] = 1.0;
      gpu[i] = (int32_t)device;
      cpu[i] = -1;
      gpu_start[i] = start;
      cpu_start[i] = NAN;
    } else {
      gpu_fraction[i] = 0.0;
      gpu[i] = -1;
      cpu[i] = 0;
      gpu_start[i] = NAN;
      cpu_start[i] = start;
    }
  }
}
