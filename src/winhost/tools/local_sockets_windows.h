#pragma once
// winsock2.h comes before windows.h, which would bring in its predecessor.
// clang-format off
#include <winsock2.h>
#include <windows.h>
#include <afunix.h>
// clang-format on

#include <map>
#include <set>
#include <string>

#include "winhost/tools/linux_calls_windows.h"

namespace porthole::winhost {

/// Sockets of the family AF_UNIX, as Windows has them since build 17063 and Wine 8 has not.
///
/// A program's socket is one of Wine's on loopback. This class connects it to a Unix socket of Linux, so that programs in other containers,
/// and on the host, which have separate networks, can connect by a path. Where Windows has one file, there are two: an empty one at the
/// path, which programs see and delete, and next to it the socket, ".<name>.socket", which Wine cannot show. Threads of this process copy
/// the bytes.
///
/// On loopback, other programs of the same network could connect in place of our threads: a listener therefore has a random address of
/// 127.0.0.0/8 and a random port, and a client is identified by its port. Used from any thread; exists until the process ends.
class LocalSockets {
public:
    static constexpr LONG MostPairs = 256;  ///< connections of a process, each with two threads

    /// All functions are as Winsock's, for sockets passed to add().
    void add(SOCKET socket) {
        const Lock lock(mutex_);
        sockets_.insert(socket);
    }
    bool has(SOCKET socket) {
        const Lock lock(mutex_);
        return sockets_.contains(socket);
    }
    int bind(SOCKET socket, const sockaddr* name, int size);
    int connect(SOCKET socket, const sockaddr* name, int size);
    /// Of the socket itself; the name of a peer is never known.
    int name(SOCKET socket, bool of_peer, sockaddr* into, int* size);
    /// Before it is closed.
    void remove(SOCKET socket);

private:
    using LinuxAddress = linux_calls::InternetAddress;

    class Lock {
    public:
        explicit Lock(SRWLOCK& mutex) : mutex_(mutex) { AcquireSRWLockExclusive(&mutex_); }
        ~Lock() { ReleaseSRWLockExclusive(&mutex_); }

    private:
        SRWLOCK& mutex_;
    };
    /// The open directory of a socket's path, and the socket's name in it.
    struct Place {
        int folder = -1;
        std::string name;
    };
    struct Bound {
        std::string path;
        Place place;
        int listener = -1;
        linux_calls::FileIdentity own;  ///< of the socket in the directory: another program may use its name later
    };
    struct Listening {
        int listener;
        LinuxAddress program;  ///< where the program's socket listens
    };
    struct Connecting {
        int local, listener;
        LinuxAddress program;  ///< source address of the program's socket
    };
    /// Two ends that are closed when both directions have ended.
    struct Pair {
        int ends[2];
        LONG directions = 2;
    };
    struct Direction {
        Pair* pair;
        int from;
    };

    static std::string path_of(const sockaddr* name, int size);
    static Place place_of(const std::string& path);
    static linux_calls::UnixAddress address_of(int folder, const std::string& name);
    static int fail(int code) {
        SetLastError(code);
        return SOCKET_ERROR;
    }
    static int make_listener(const Place& place);
    static bool bind_to(SOCKET socket, std::uint32_t address, LinuxAddress& bound);
    static bool run(LPTHREAD_START_ROUTINE body, void* argument);
    /// Ends both if there are too many pairs.
    static void join(int one, int other);
    static void end_direction(Pair& pair);
    static DWORD WINAPI serve(void* argument);
    static DWORD WINAPI meet(void* argument);
    static DWORD WINAPI carry(void* argument);

    SRWLOCK mutex_ = SRWLOCK_INIT;  ///< guards the members below
    std::set<SOCKET> sockets_;
    std::map<SOCKET, Bound> bound_;
    inline static LONG pairs_ = 0;
};

/// Winsock's function of this name as Wine has it.
template <class Function>
Function wine_function(const char* name) {
    return reinterpret_cast<Function>(reinterpret_cast<void*>(GetProcAddress(LoadLibraryW(L"wine_ws2_32.dll"), name)));
}

inline std::string LocalSockets::path_of(const sockaddr* name, int size) {
    constexpr int Start = offsetof(sockaddr_un, sun_path);
    if (size <= Start) return "";
    const std::string bytes(reinterpret_cast<const sockaddr_un*>(name)->sun_path, static_cast<std::size_t>(size - Start));
    return bytes.substr(0, bytes.find('\0'));
}

inline LocalSockets::Place LocalSockets::place_of(const std::string& path) {
    using UnixName = char*(CDECL*)(const wchar_t*);
    static const auto unix_name =
        reinterpret_cast<UnixName>(reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "wine_get_unix_file_name")));
    wchar_t wide[MAX_PATH], full[MAX_PATH];
    wchar_t* last = nullptr;
    if (!unix_name || MultiByteToWideChar(CP_UTF8, 0, path.c_str(), -1, wide, MAX_PATH) == 0) return {};
    const DWORD length = GetFullPathNameW(wide, MAX_PATH, full, &last);
    if (length == 0 || length >= MAX_PATH || !last || last == full) return {};
    char name[MAX_PATH];
    if (WideCharToMultiByte(CP_UTF8, 0, last, -1, name, sizeof name, nullptr, nullptr) == 0) return {};
    *last = 0;
    char* folder = unix_name(full);
    if (!folder) return {};
    Place place{linux_calls::open_at(0, folder, linux_calls::PathOnly), "." + std::string(name) + ".socket"};
    HeapFree(GetProcessHeap(), 0, folder);
    return place;
}

/// Through the open directory, since Linux' path may be longer than an address.
inline linux_calls::UnixAddress LocalSockets::address_of(int folder, const std::string& name) {
    linux_calls::UnixAddress address;
    const std::string path = "/proc/self/fd/" + std::to_string(folder) + (name.empty() ? "" : "/" + name);
    path.copy(address.path, sizeof address.path - 1);
    return address;
}

inline bool LocalSockets::run(LPTHREAD_START_ROUTINE body, void* argument) {
    const HANDLE thread = CreateThread(nullptr, 0, body, argument, 0, nullptr);
    if (thread) CloseHandle(thread);
    return thread != nullptr;
}

/// Binds Wine's socket to a loopback address and any port.
inline bool LocalSockets::bind_to(SOCKET socket, std::uint32_t address, LinuxAddress& bound) {
    static const auto Bind = wine_function<decltype(&::bind)>("bind");
    static const auto Name = wine_function<decltype(&::getsockname)>("getsockname");
    sockaddr_in name{};
    int size = sizeof name;
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = address;
    if (Bind(socket, reinterpret_cast<const sockaddr*>(&name), size) != 0) return false;
    if (Name(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return false;
    bound.port = name.sin_port;
    bound.address = address;
    return true;
}

inline std::uint32_t random_loopback() {
    std::uint32_t address = 0;
    linux_calls::random(&address, sizeof address);
    return (address & 0xfeffff00) | 127;  // in the order of the network: neither 127.0.0.0 nor 127.255.255.255
}

inline int LocalSockets::make_listener(const Place& place) {
    const int listener = linux_calls::socket(linux_calls::Unix);
    linux_calls::unlink_at(place.folder, place.name.c_str());  // of a program that was killed: there was no file at the path
    if (linux_calls::bind(listener, address_of(place.folder, place.name)) == 0 && linux_calls::listen(listener) == 0) return listener;
    linux_calls::close(listener);
    return -1;
}

inline int LocalSockets::bind(SOCKET socket, const sockaddr* name, int size) {
    const std::string path = path_of(name, size);
    const Place place = path.empty() ? Place() : place_of(path);
    if (place.folder < 0) return fail(WSAENETDOWN);  // what Windows says of a folder that is not there
    wchar_t wide[MAX_PATH];
    MultiByteToWideChar(CP_UTF8, 0, path.c_str(), -1, wide, MAX_PATH);
    const HANDLE file =
        CreateFileW(wide, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (file == INVALID_HANDLE_VALUE) {
        const bool taken = GetLastError() == ERROR_FILE_EXISTS;
        linux_calls::close(place.folder);
        return fail(taken ? WSAEADDRINUSE : WSAEACCES);
    }
    CloseHandle(file);
    const int listener = make_listener(place);
    LinuxAddress program;
    if (listener < 0 || !bind_to(socket, random_loopback(), program) || !run(serve, new Listening{listener, program})) {
        if (listener >= 0) linux_calls::close(listener);
        linux_calls::close(place.folder);
        DeleteFileW(wide);
        return fail(WSAENOBUFS);
    }
    const Lock lock(mutex_);
    bound_[socket] = {path, place, listener, linux_calls::identity_at(place.folder, place.name.c_str())};
    return 0;
}

inline int LocalSockets::connect(SOCKET socket, const sockaddr* name, int size) {
    static const auto Connect = wine_function<decltype(&::connect)>("connect");
    const std::string path = path_of(name, size);
    const Place place = path.empty() ? Place() : place_of(path);
    if (place.folder < 0) return fail(WSAECONNREFUSED);
    // The socket itself is opened, without following a link that a container could have put there.
    const int target = linux_calls::open_at(place.folder, place.name.c_str(), linux_calls::PathOnly | linux_calls::NoFollow);
    linux_calls::close(place.folder);
    if (target < 0) return fail(WSAECONNREFUSED);
    // Non-blocking for the program's sake: a listener with a full queue refuses.
    const int local = linux_calls::socket(linux_calls::Unix, linux_calls::NonBlocking);
    const bool met = linux_calls::connect(local, address_of(target, "")) == 0 && linux_calls::make_blocking(local) == 0;
    linux_calls::close(target);
    const int listener = linux_calls::socket(linux_calls::Internet);
    LinuxAddress here, program;
    here.address = random_loopback();
    const bool ready =
        met && linux_calls::bind(listener, here) == 0 && linux_calls::listen(listener) == 0 && bind_to(socket, here.address, program);
    here = linux_calls::name_of(listener);
    if (!ready || !run(meet, new Connecting{local, listener, program})) {
        linux_calls::close(local);
        linux_calls::close(listener);
        return fail(WSAECONNREFUSED);
    }
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = here.port;
    server.sin_addr.s_addr = here.address;
    return Connect(socket, reinterpret_cast<const sockaddr*>(&server), sizeof server);
}

inline int LocalSockets::name(SOCKET socket, bool of_peer, sockaddr* into, int* size) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const Lock lock(mutex_);
    const auto found = of_peer ? bound_.end() : bound_.find(socket);
    if (found != bound_.end()) found->second.path.copy(name.sun_path, sizeof name.sun_path - 1);
    if (*size < static_cast<int>(sizeof name.sun_family)) return fail(WSAEFAULT);
    const int length = *size < static_cast<int>(sizeof name) ? *size : static_cast<int>(sizeof name);
    memcpy(into, &name, static_cast<std::size_t>(length));
    *size = length;
    return 0;
}

inline void LocalSockets::remove(SOCKET socket) {
    const Lock lock(mutex_);
    sockets_.erase(socket);
    const auto found = bound_.find(socket);
    if (found == bound_.end()) return;
    // The file stays, as on Windows: to delete it is the program's. If it has, a successor may have bound the path.
    const Bound& bound = found->second;
    if (linux_calls::identity_at(bound.place.folder, bound.place.name.c_str()) == bound.own)
        linux_calls::unlink_at(bound.place.folder, bound.place.name.c_str());
    linux_calls::close(bound.place.folder);
    linux_calls::shutdown(bound.listener, linux_calls::ShutBoth);  // its thread closes it
    bound_.erase(found);
}

/// Accepts from Linux on behalf of a program that listens.
inline DWORD WINAPI LocalSockets::serve(void* argument) {
    const Listening work = *static_cast<Listening*>(argument);
    delete static_cast<Listening*>(argument);
    constexpr DWORD Pause = 100;                                                                        // milliseconds
    for (int client; (client = linux_calls::accept(work.listener)) != linux_calls::InvalidArgument;) {  // which it is after remove()
        if (client < 0) {  // a peer that went again, or no more files: that passes
            Sleep(Pause);
            continue;
        }
        const int program = linux_calls::socket(linux_calls::Internet);
        if (linux_calls::connect(program, work.program) == 0) {
            join(client, program);
        } else {
            linux_calls::close(program);
            linux_calls::close(client);
        }
    }
    linux_calls::close(work.listener);
    return 0;
}

/// Waits for the socket of the connecting program, and for no other.
inline DWORD WINAPI LocalSockets::meet(void* argument) {
    constexpr int Patience = 10'000;  // milliseconds; it connects at once or never
    const Connecting work = *static_cast<Connecting*>(argument);
    delete static_cast<Connecting*>(argument);
    bool met = false;
    while (!met && linux_calls::wait_readable(work.listener, Patience)) {
        LinuxAddress peer;
        const int client = linux_calls::accept(work.listener, &peer);
        met = client >= 0 && peer == work.program;
        if (met) join(work.local, client);
        if (!met && client >= 0) linux_calls::close(client);
    }
    linux_calls::close(work.listener);
    if (!met) linux_calls::close(work.local);
    return 0;
}

inline void LocalSockets::join(int one, int other) {
    auto* pair = new Pair{{one, other}};
    const bool has_room = InterlockedIncrement(&pairs_) <= MostPairs;
    for (const int from : {one, other}) {
        auto* direction = new Direction{pair, from};
        if (has_room && run(carry, direction)) continue;
        delete direction;
        for (const int end : {one, other}) linux_calls::shutdown(end, linux_calls::ShutBoth);
        end_direction(*pair);
    }
}

inline void LocalSockets::end_direction(Pair& pair) {
    if (InterlockedDecrement(&pair.directions) != 0) return;
    for (const int end : pair.ends) linux_calls::close(end);
    InterlockedDecrement(&pairs_);
    delete &pair;
}

inline DWORD WINAPI LocalSockets::carry(void* argument) {
    const Direction work = *static_cast<Direction*>(argument);
    delete static_cast<Direction*>(argument);
    Pair& pair = *work.pair;
    const int to = pair.ends[0] == work.from ? pair.ends[1] : pair.ends[0];
    char buffer[16384];
    linux_calls::Word count;
    bool open = true;
    while (open && (count = linux_calls::read(work.from, buffer, sizeof buffer)) > 0) {
        for (linux_calls::Word sent = 0, step; open && sent < count; sent += step) {
            step = linux_calls::send(to, buffer + sent, static_cast<std::size_t>(count - sent));
            open = step > 0;
        }
    }
    // A peer that has closed, rather than only ended its sending, must not keep the other direction open.
    linux_calls::shutdown(to, open && count == 0 ? linux_calls::ShutWrite : linux_calls::ShutBoth);
    if (!open || count < 0) linux_calls::shutdown(work.from, linux_calls::ShutBoth);
    end_direction(pair);
    return 0;
}

}  // namespace porthole::winhost
