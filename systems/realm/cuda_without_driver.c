// Realm's library from PyPI is built with CUDA and is not loaded without the driver's library. Where there is none, this one takes
// its place and says that there is no device: CUDA_ERROR_NO_DEVICE.

enum { no_device = 100 };

int cuInit(unsigned flags) { return (void)flags, no_device; }
int cuMemFreeHost(void* memory) { return (void)memory, no_device; }
int cuMemFree_v2(unsigned long long memory) { return (void)memory, no_device; }
int cuGetErrorName(int error, const char** text) { return (void)error, *text = "CUDA_ERROR_NO_DEVICE", 0; }
int cuGetErrorString(int error, const char** text) { return (void)error, *text = "there is no driver", 0; }
