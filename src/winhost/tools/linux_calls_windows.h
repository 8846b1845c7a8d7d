#pragma once
// System calls of Linux, made by programs under Wine: what Wine has no function for. Negative results are Linux' error numbers. A call that
// a signal of Wine's interrupts is made again.
#include <cstddef>
#include <cstdint>

namespace porthole::winhost::linux_calls {

using Word = long long;  ///< a register; `long` has 32 bits on Windows

inline Word call(Word number, Word a = 0, Word b = 0, Word c = 0, Word d = 0, Word e = 0, Word f = 0) {
    constexpr Word Interrupted = -4;
    Word result;
    do {
        register Word r10 asm("r10") = d;
        register Word r8 asm("r8") = e;
        register Word r9 asm("r9") = f;
        asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    } while (result == Interrupted);
    return result;
}
template <class T>
Word word(T* pointer) {
    return static_cast<Word>(reinterpret_cast<std::uintptr_t>(pointer));
}

constexpr int Unix = 1, Internet = 2;                    // families
constexpr int Stream = 1, CloseOnExec = 02000000;        // types, and a flag that files share
constexpr int NonBlocking = 04000;                       // another
constexpr int NoFollow = 0400000, PathOnly = 010000000;  // flags of open()
constexpr int NoSignal = 0x4000;                         // of send()
constexpr int ShutWrite = 1, ShutBoth = 2;
constexpr int InvalidArgument = -22;  // an error

/// Linux' sockaddr_un.
struct UnixAddress {
    std::uint16_t family = Unix;
    char path[108] = {};
};
/// Linux' sockaddr_in.
struct InternetAddress {
    std::uint16_t family = Internet, port = 0;  ///< this and the following in network byte order
    std::uint32_t address = 0;
    char unused[8] = {};
    bool operator==(const InternetAddress& other) const { return port == other.port && address == other.address; }
};

inline Word read(int file, char* buffer, std::size_t size) { return call(0, file, word(buffer), static_cast<Word>(size)); }
inline Word close(int file) { return call(3, file); }
inline int socket(int family, int flags = 0) { return static_cast<int>(call(41, family, Stream | CloseOnExec | flags)); }
/// Calls for the file wait from now on.
inline Word make_blocking(int file) {
    constexpr Word SetFlags = 4;
    return call(72, file, SetFlags, 0);
}
/// Identifies a file while it exists.
struct FileIdentity {
    std::uint64_t device = 0, inode = 0;
    bool operator==(const FileIdentity&) const = default;
};
/// Of the name itself if it is a link; zeros if nothing exists.
inline FileIdentity identity_at(int folder, const char* name) {
    constexpr Word SymlinkNoFollow = 0x100;
    std::uint64_t status[18] = {};  // Linux' struct stat, which begins with what is wanted
    if (call(262, folder, word(name), word(status), SymlinkNoFollow) != 0) return {};
    return {status[0], status[1]};
}
template <class Address>
Word connect(int socket, const Address& address) {
    return call(42, socket, word(&address), sizeof address);
}
inline Word send(int socket, const char* bytes, std::size_t size) {
    return call(44, socket, word(bytes), static_cast<Word>(size), NoSignal);
}
inline Word shutdown(int socket, int how) { return call(48, socket, how); }
template <class Address>
Word bind(int socket, const Address& address) {
    return call(49, socket, word(&address), sizeof address);
}
inline Word listen(int socket) { return call(50, socket, 128); }
inline InternetAddress name_of(int socket) {
    InternetAddress address;
    int size = sizeof address;
    call(51, socket, word(&address), word(&size));
    return address;
}
inline int open_at(int folder, const char* name, int flags) { return static_cast<int>(call(257, folder, word(name), flags | CloseOnExec)); }
inline Word unlink_at(int folder, const char* name) { return call(263, folder, word(name)); }
/// `peer` is for sockets of the internet only.
inline int accept(int socket, InternetAddress* peer = nullptr) {
    int size = sizeof *peer;
    return static_cast<int>(call(288, socket, peer ? word(peer) : 0, peer ? word(&size) : 0, CloseOnExec));
}
/// Whether there is something to read, or to accept, within that time.
inline bool wait_readable(int file, int milliseconds) {
    struct {
        int file;
        short wanted, seen;
    } entry{file, 1, 0};
    return call(7, word(&entry), 1, milliseconds) > 0;
}
inline Word random(void* into, std::size_t size) { return call(318, word(into), static_cast<Word>(size)); }

}  // namespace porthole::winhost::linux_calls
