#include "winhost/bundle/seccomp_profile.h"

#include <linux/sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>

namespace porthole::winhost {
namespace {

using schema::Array;
using schema::Value;

// Names of all architectures; runc leaves out those that the machine has not.

constexpr const char* Files[] = {"access",
                                 "chdir",
                                 "chmod",
                                 "chown",
                                 "close",
                                 "close_range",
                                 "copy_file_range",
                                 "creat",
                                 "dup",
                                 "dup2",
                                 "dup3",
                                 "faccessat",
                                 "faccessat2",
                                 "fadvise64",
                                 "fallocate",
                                 "fchdir",
                                 "fchmod",
                                 "fchmodat",
                                 "fchmodat2",
                                 "fchown",
                                 "fchownat",
                                 "fcntl",
                                 "fdatasync",
                                 "fgetxattr",
                                 "flistxattr",
                                 "flock",
                                 "fremovexattr",
                                 "fsetxattr",
                                 "fstat",
                                 "fstatfs",
                                 "fsync",
                                 "ftruncate",
                                 "futimesat",
                                 "getcwd",
                                 "getdents",
                                 "getdents64",
                                 "getxattr",
                                 "inotify_add_watch",
                                 "inotify_init",
                                 "inotify_init1",
                                 "inotify_rm_watch",
                                 "ioctl",
                                 "lchown",
                                 "lgetxattr",
                                 "link",
                                 "linkat",
                                 "listxattr",
                                 "llistxattr",
                                 "lremovexattr",
                                 "lseek",
                                 "lsetxattr",
                                 "lstat",
                                 "memfd_create",
                                 "mkdir",
                                 "mkdirat",
                                 "mknod",
                                 "mknodat",
                                 "newfstatat",
                                 "open",
                                 "openat",
                                 "openat2",
                                 "pipe",
                                 "pipe2",
                                 "pread64",
                                 "preadv",
                                 "preadv2",
                                 "pwrite64",
                                 "pwritev",
                                 "pwritev2",
                                 "read",
                                 "readahead",
                                 "readlink",
                                 "readlinkat",
                                 "readv",
                                 "removexattr",
                                 "rename",
                                 "renameat",
                                 "renameat2",
                                 "rmdir",
                                 "sendfile",
                                 "setxattr",
                                 "splice",
                                 "stat",
                                 "statfs",
                                 "statx",
                                 "symlink",
                                 "symlinkat",
                                 "sync",
                                 "sync_file_range",
                                 "syncfs",
                                 "tee",
                                 "truncate",
                                 "umask",
                                 "unlink",
                                 "unlinkat",
                                 "utime",
                                 "utimensat",
                                 "utimes",
                                 "vmsplice",
                                 "write",
                                 "writev"};

constexpr const char* Memory[] = {"brk",       "get_mempolicy", "madvise",          "map_shadow_stack", "mbind",  "membarrier",
                                  "mincore",   "mlock",         "mlock2",           "mlockall",         "mmap",   "mprotect",
                                  "mremap",    "msync",         "munlock",          "munlockall",       "munmap", "pkey_alloc",
                                  "pkey_free", "pkey_mprotect", "remap_file_pages", "set_mempolicy"};

constexpr const char* Processes[] = {"arch_prctl",
                                     "capget",
                                     "capset",
                                     "execve",
                                     "execveat",
                                     "exit",
                                     "exit_group",
                                     "fork",
                                     "get_robust_list",
                                     "get_thread_area",
                                     "getcpu",
                                     "getegid",
                                     "geteuid",
                                     "getgid",
                                     "getgroups",
                                     "getpgid",
                                     "getpgrp",
                                     "getpid",
                                     "getppid",
                                     "getpriority",
                                     "getresgid",
                                     "getresuid",
                                     "getrlimit",
                                     "getrusage",
                                     "getsid",
                                     "gettid",
                                     "getuid",
                                     "ioprio_get",
                                     "ioprio_set",
                                     "kill",
                                     "modify_ldt",
                                     "pidfd_getfd",
                                     "pidfd_open",
                                     "pidfd_send_signal",
                                     "prctl",
                                     "prlimit64",
                                     "process_madvise",
                                     "process_vm_readv",
                                     "process_vm_writev",
                                     "ptrace",
                                     "rseq",
                                     "sched_get_priority_max",
                                     "sched_get_priority_min",
                                     "sched_getaffinity",
                                     "sched_getattr",
                                     "sched_getparam",
                                     "sched_getscheduler",
                                     "sched_rr_get_interval",
                                     "sched_setaffinity",
                                     "sched_setattr",
                                     "sched_setparam",
                                     "sched_setscheduler",
                                     "sched_yield",
                                     "seccomp",
                                     "set_robust_list",
                                     "set_thread_area",
                                     "set_tid_address",
                                     "setfsgid",
                                     "setfsuid",
                                     "setgid",
                                     "setgroups",
                                     "setpgid",
                                     "setpriority",
                                     "setregid",
                                     "setresgid",
                                     "setresuid",
                                     "setreuid",
                                     "setrlimit",
                                     "setsid",
                                     "setuid",
                                     "sysinfo",
                                     "times",
                                     "uname",
                                     "vfork",
                                     "wait4",
                                     "waitid"};

constexpr const char* SignalsAndTime[] = {"alarm",
                                          "clock_getres",
                                          "clock_gettime",
                                          "clock_nanosleep",
                                          "getitimer",
                                          "gettimeofday",
                                          "nanosleep",
                                          "pause",
                                          "restart_syscall",
                                          "rt_sigaction",
                                          "rt_sigpending",
                                          "rt_sigprocmask",
                                          "rt_sigqueueinfo",
                                          "rt_sigreturn",
                                          "rt_sigsuspend",
                                          "rt_sigtimedwait",
                                          "rt_tgsigqueueinfo",
                                          "setitimer",
                                          "sigaltstack",
                                          "signalfd",
                                          "signalfd4",
                                          "tgkill",
                                          "time",
                                          "timer_create",
                                          "timer_delete",
                                          "timer_getoverrun",
                                          "timer_gettime",
                                          "timer_settime",
                                          "timerfd_create",
                                          "timerfd_gettime",
                                          "timerfd_settime",
                                          "tkill"};

constexpr const char* Waiting[] = {"epoll_create", "epoll_create1", "epoll_ctl",      "epoll_ctl_old", "epoll_pwait",
                                   "epoll_pwait2", "epoll_wait",    "epoll_wait_old", "eventfd",       "eventfd2",
                                   "futex",        "futex_requeue", "futex_wait",     "futex_waitv",   "futex_wake",
                                   "io_cancel",    "io_destroy",    "io_getevents",   "io_pgetevents", "io_setup",
                                   "io_submit",    "poll",          "ppoll",          "pselect6",      "select"};

constexpr const char* Network[] = {"accept",     "accept4", "bind",       "connect",  "getpeername", "getsockname",
                                   "getsockopt", "listen",  "recvfrom",   "recvmmsg", "recvmsg",     "sendmmsg",
                                   "sendmsg",    "sendto",  "setsockopt", "shutdown", "socketpair"};

constexpr const char* Ipc[] = {"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl",
                               "msgget",        "msgrcv",    "msgsnd",  "semctl",          "semget",       "semop",     "semtimedop",
                               "shmat",         "shmctl",    "shmdt",   "shmget",          "getrandom"};

/// Flags of clone that make a namespace. All but CLONE_NEWTIME, which clone does not know.
constexpr std::uint64_t NamespaceFlags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr const char* Allow = "SCMP_ACT_ALLOW";

Value number(std::uint64_t value) { return Value(static_cast<std::int64_t>(value)); }

template <typename Names>
Value allow(const Names& names) {
    Array list;
    for (const char* name : names) list.emplace_back(name);
    return Value::object({{"names", std::move(list)}, {"action", Allow}});
}

/// Only with a first argument as `compared`.
Value allow_if(const char* name, Value compared) {
    Value rule = allow(std::initializer_list<const char*>{name});
    compared["index"] = 0;
    rule["args"] = Array{std::move(compared)};
    return rule;
}

}  // namespace

Value seccomp_profile(bool with_32_bit) {
    Array rules = {allow(Files), allow(Memory), allow(Processes), allow(SignalsAndTime), allow(Waiting), allow(Network), allow(Ipc)};
    // Its flags are behind a pointer, where no filter sees them; told that there is no such call, the C library takes clone.
    rules.push_back(Value::object({{"names", Array{Value("clone3")}}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", ENOSYS}}));
    rules.push_back(allow_if("clone", Value::object({{"value", number(NamespaceFlags)}, {"valueTwo", 0}, {"op", "SCMP_CMP_MASKED_EQ"}})));
    for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})
        rules.push_back(allow_if("socket", Value::object({{"value", family}, {"op", "SCMP_CMP_EQ"}})));
    // Plain Linux, that without randomised addresses, and the question which it is.
    for (const std::uint64_t persona : {std::uint64_t{0}, std::uint64_t{0x0040000}, std::uint64_t{0xffffffff}})
        rules.push_back(allow_if("personality", Value::object({{"value", number(persona)}, {"op", "SCMP_CMP_EQ"}})));
    Array architectures = {Value("SCMP_ARCH_X86_64")};
    if (with_32_bit) architectures.emplace_back("SCMP_ARCH_X86");
    return Value::object({{"defaultAction", "SCMP_ACT_ERRNO"},
                          {"defaultErrnoRet", EPERM},
                          {"architectures", std::move(architectures)},
                          {"syscalls", std::move(rules)}});
}

}  // namespace porthole::winhost
