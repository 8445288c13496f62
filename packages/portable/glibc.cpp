// The newer glibc symbols that GCC's runtime and this code would need, so that the module loads with
// older ones, too: a machine's glibc must be as new as the newest symbol asked for. Hidden in the
// module; nobody else gets them.
//
//   _dl_find_object          2.35   finds the unwinding table of a function, for exceptions
//   __libc_single_threaded   2.32   whether shared_ptr may count without atomic operations
//   arc4random, getentropy   2.36, 2.25   behind std::random_device
//   pthread_once, __pthread_key_create    2.34: in libpthread before
//   log, log2, pow           2.29: the same, but that they set errno as older programs expect
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct Search {
  uintptr_t address;
  dl_find_object* result;
};

// Called for each library until it gives 1: the one that holds the address was found.
int search_one(dl_phdr_info* library, size_t, void* data) {
  auto* const search = static_cast<Search*>(data);
  const ElfW(Phdr)* tables = nullptr;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library->dlpi_phdr[i];
    const uintptr_t at = library->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) {
      tables = &part;
    } else if (part.p_type == PT_LOAD && search->address - at < part.p_memsz) {
      begin = at;
      end = at + part.p_memsz;
    }
  }
  if (end == 0) {
    return 0;
  }
  if (tables == nullptr) {
    return 1;  // holds the address, and cannot be unwound
  }
  search->result->dlfo_map_start = reinterpret_cast<void*>(begin);
  search->result->dlfo_map_end = reinterpret_cast<void*>(end);
  search->result->dlfo_eh_frame = reinterpret_cast<void*>(library->dlpi_addr + tables->p_vaddr);
  return 1;
}

bool random_bytes(void* to, size_t size) {
  return syscall(SYS_getrandom, to, size, 0) == static_cast<long>(size);
}

}  // namespace

extern "C" {

int _dl_find_object(void* address, dl_find_object* result) noexcept {
  *result = {};
  Search search{reinterpret_cast<uintptr_t>(address), result};
  dl_iterate_phdr(search_one, &search);
  return result->dlfo_eh_frame == nullptr ? -1 : 0;
}

extern char __libc_single_threaded;
char __libc_single_threaded = 0;

int getentropy(void* to, size_t size) { return size <= 256 && random_bytes(to, size) ? 0 : -1; }

// Can't fail: before Linux 3.17, which has no such system call, by what the kernel gave the process.
uint32_t arc4random() noexcept {
  uint32_t number = 0;
  if (!random_bytes(&number, sizeof number)) {
    std::memcpy(&number, reinterpret_cast<const void*>(getauxval(AT_RANDOM)), sizeof number);
  }
  return number;
}

// Asked for by the unwinder, once, and for its address: with it there are threads.
int __pthread_key_create(pthread_key_t*, void (*)(void*)) { return -1; }

int pthread_once(pthread_once_t* once, void (*initialize)()) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  if (*once == PTHREAD_ONCE_INIT) {
    initialize();
    *once = PTHREAD_ONCE_INIT + 1;
  }
  pthread_mutex_unlock(&mutex);
  return 0;
}

// The linker's --wrap turns calls of log() into those of __wrap_log().
#if defined(__x86_64__)
#define CUCKOO_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define CUCKOO_FIRST_GLIBC "GLIBC_2.17"
#else
#error "the first version of glibc for this processor is not known"
#endif
#define CUCKOO_OLD(function) __asm__(".symver old_" #function ", " #function "@" CUCKOO_FIRST_GLIBC)
CUCKOO_OLD(log);
CUCKOO_OLD(log2);
CUCKOO_OLD(pow);
double old_log(double);
double old_log2(double);
double old_pow(double, double);

double __wrap_log(double x) { return old_log(x); }
double __wrap_log2(double x) { return old_log2(x); }
double __wrap_pow(double x, double y) { return old_pow(x, y); }
}
