/* The first process of every Linux pod sandbox. It holds the pod's namespaces open, reaps orphans when the pod shares
 * its process namespace, and ends on SIGTERM or SIGINT.
 *
 * Built without a C library (see make_image.py), so that the image is one file of a few kilobytes. Signals are blocked
 * and taken with rt_sigtimedwait instead of handlers: the kernel drops unhandled signals sent to the first process of a
 * namespace, but never blocked ones, and no signal trampoline is needed.
 */
#include <asm/unistd.h>

#define SIGINT 2
#define SIGTERM 15
#define SIGCHLD 17
#define SIG_BLOCK 0
#define WNOHANG 1
#define KERNEL_SIGSET_BYTES 8

static long system_call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#else
#error "pause.c: no system call convention for this processor"
#endif
}

static unsigned long signal_bit(int signal) { return 1UL << (signal - 1); }

static void reap_all(void) {
    while (system_call(__NR_wait4, -1, 0, WNOHANG, 0) > 0) {
    }
}

__attribute__((used, noreturn))
#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))
#endif
void _start(void) {
    const unsigned long awaited = signal_bit(SIGINT) | signal_bit(SIGTERM) | signal_bit(SIGCHLD);
    system_call(__NR_rt_sigprocmask, SIG_BLOCK, (long)&awaited, 0, KERNEL_SIGSET_BYTES);
    for (;;) {
        reap_all();
        const long signal = system_call(__NR_rt_sigtimedwait, (long)&awaited, 0, 0, KERNEL_SIGSET_BYTES);
        if (signal == SIGINT || signal == SIGTERM) system_call(__NR_exit_group, 0, 0, 0, 0);
    }
}
