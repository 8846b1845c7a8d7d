// ws2_32.dll in front of Wine's, which stands beside it as wine_ws2_32.dll and has all functions but one (ws2_32.def): Wine 8 does not know
// SIO_UDP_NETRESET, which Go's run time sets on every UDP socket since 1.23, and gives the socket up where that fails.
#include <winsock2.h>

namespace {

using Ioctl = decltype(&WSAIoctl);

constexpr DWORD UdpNetReset = _WSAIOW(IOC_VENDOR, 15);

Ioctl wine_ioctl() {
    return reinterpret_cast<Ioctl>(reinterpret_cast<void*>(GetProcAddress(LoadLibraryW(L"wine_ws2_32.dll"), "WSAIoctl")));
}

/// That nothing be reported is what sockets of Wine do in any case: Linux tells only connected ones that a network cannot be reached.
bool switches_net_reset_off(DWORD code, const void* input, DWORD size) {
    return code == UdpNetReset && input && size >= sizeof(BOOL) && !*static_cast<const BOOL*>(input);
}

}  // namespace

extern "C" int WSAAPI shim_ioctl(SOCKET socket, DWORD code, void* input, DWORD input_size, void* output, DWORD output_size, DWORD* returned,
                                 WSAOVERLAPPED* overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE completion) {
    static const Ioctl Wine = wine_ioctl();
    int kind = 0, size = sizeof kind;
    using GetOption = int(WSAAPI*)(SOCKET, int, int, char*, int*);
    if (!overlapped && switches_net_reset_off(code, input, input_size)) {
        static const auto Option =
            reinterpret_cast<GetOption>(reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"wine_ws2_32.dll"), "getsockopt")));
        if (Option(socket, SOL_SOCKET, SO_TYPE, reinterpret_cast<char*>(&kind), &size) == 0 && kind == SOCK_DGRAM) {
            if (returned) *returned = 0;
            return 0;
        }
    }
    return Wine(socket, code, input, input_size, output, output_size, returned, overlapped, completion);
}
