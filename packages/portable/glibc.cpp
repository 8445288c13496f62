// The newer glibc symbols that GCC's runtime and this code would need, so that the module loads with
// older ones, too: a machine's glibc must be as new as the newest symbol asked for. Hidden in the
// module; nobody else gets them.
//
//   _dl_find_object          2.35   finds the unwinding table of a function, for exceptions
//   __libc_single_threaded   2.32   whether shared_ptr may count without atomic operations
//   arc4random, getentropy   2.36, 2.25   behind std::random_device
//   pthread_once, __pthread_key_create    2.34: in libpthread before
//   exp2, log, log2, pow     2.29: the same, but that they set errno as older programs expect
//
// What is asked at each exception takes no lock, as in glibc: a thread that holds one while another
// forks would leave it locked in the child.
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

// A part of a library that is in memory as a whole, and the library's table for unwinding.
struct Mapped {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uintptr_t table = 0;  // 0: none
};

struct Search {
  uintptr_t address;
  Mapped found;
};

// Called for each library until it gives 1: the one that holds the address was found.
int search_one(dl_phdr_info* library, size_t, void* data) {
  auto* const search = static_cast<Search*>(data);
  Mapped mapped;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library->dlpi_phdr[i];
    const uintptr_t at = library->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) {
      mapped.table = at;
    } else if (part.p_type == PT_LOAD && search->address - at < part.p_memsz) {
      mapped.begin = at;
      mapped.end = at + part.p_memsz;
    }
  }
  if (mapped.end == 0) {
    return 0;
  }
  search->found = mapped;
  return 1;
}

Mapped find(uintptr_t address) {
  Search search{address, {}};
  dl_iterate_phdr(search_one, &search);
  return search.found;
}

// This module's code, which exceptions do not leave; it is never unmapped (-z nodelete).
Mapped own_code;

__attribute__((constructor)) void find_own_code() {
  own_code = find(reinterpret_cast<uintptr_t>(&find_own_code));
}

bool random_bytes(void* to, size_t size) {
  return syscall(SYS_getrandom, to, size, 0) == static_cast<long>(size);
}

}  // namespace

extern "C" {

int _dl_find_object(void* address, dl_find_object* result) noexcept {
  const auto place = reinterpret_cast<uintptr_t>(address);
  const Mapped mapped =
      place - own_code.begin < own_code.end - own_code.begin ? own_code : find(place);
  *result = {};
  if (mapped.table == 0) {
    return -1;
  }
  result->dlfo_map_start = reinterpret_cast<void*>(mapped.begin);
  result->dlfo_map_end = reinterpret_cast<void*>(mapped.end);
  result->dlfo_eh_frame = reinterpret_cast<void*>(mapped.table);
  return 0;
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

// Of different objects one at a time; `initialize` may call it for another one, or throw.
int pthread_once(pthread_once_t* once, void (*initialize)()) {
  constexpr pthread_once_t kDone = PTHREAD_ONCE_INIT + 1;
  static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  if (__atomic_load_n(once, __ATOMIC_ACQUIRE) == kDone) {
    return 0;
  }
  const struct Locked {
    Locked() { pthread_mutex_lock(&mutex); }
    ~Locked() { pthread_mutex_unlock(&mutex); }
  } locked;
  if (*once != kDone) {
    initialize();
    __atomic_store_n(once, kDone, __ATOMIC_RELEASE);
  }
  return 0;
}

#if defined(__aarch64__)
// OpenSSL's own would find out at load by trying instructions, with a handler for SIGILL that all
// threads of the process have meanwhile. Bits: NEON, SHA-1, SHA-256 (OpenSSL's arm_arch.h).
extern unsigned OPENSSL_armcap_P;
unsigned OPENSSL_armcap_P = 0;
__attribute__((constructor)) static void ask_kernel_for_instructions() {
  constexpr unsigned long kNeon = 1UL << 1;  // Linux's HWCAP_ASIMD, _SHA1, _SHA2
  constexpr unsigned long kSha1 = 1UL << 5;
  constexpr unsigned long kSha256 = 1UL << 6;
  const unsigned long has = getauxval(AT_HWCAP);
  OPENSSL_armcap_P = ((has & kNeon) != 0 ? 1U << 0 : 0U) | ((has & kSha1) != 0 ? 1U << 3 : 0U) |
                     ((has & kSha256) != 0 ? 1U << 4 : 0U);
}
#endif

// The linker's --wrap turns calls of log() into those of __wrap_log().
#if defined(__x86_64__)
#define CUCKOO_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define CUCKOO_FIRST_GLIBC "GLIBC_2.17"
#else
#error "the first version of glibc for this processor is not known"
#endif
#define CUCKOO_OLD(function) __asm__(".symver old_" #function ", " #function "@" CUCKOO_FIRST_GLIBC)
CUCKOO_OLD(exp2);
CUCKOO_OLD(log);
CUCKOO_OLD(log2);
CUCKOO_OLD(pow);
double old_exp2(double);
double old_log(double);
double old_log2(double);
double old_pow(double, double);

double __wrap_exp2(double x) { return old_exp2(x); }
double __wrap_log(double x) { return old_log(x); }
double __wrap_log2(double x) { return old_log2(x); }
double __wrap_pow(double x, double y) { return old_pow(x, y); }
}
