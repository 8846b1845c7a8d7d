#include "winhost/tools/programs.h"

namespace porthole::winhost {
namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr unsigned char Init[] = {
#embed "init"
};
constexpr unsigned char Launch[] = {
#embed "launch.exe"
};
constexpr unsigned char Pipes[] = {
#embed "pipes.exe"
};
constexpr unsigned char Host[] = {
#embed "host.exe"
};
constexpr unsigned char Absent[] = {
#embed "absent.exe"
};
constexpr unsigned char Tar[] = {
#embed "tar.exe"
};
constexpr unsigned char Ipconfig[] = {
#embed "ipconfig.exe"
};
constexpr unsigned char Whoami[] = {
#embed "whoami.exe"
};
constexpr unsigned char Bcryptprimitives[] = {
#embed "bcryptprimitives.dll"
};
constexpr unsigned char Ws2[] = {
#embed "ws2_32.dll"
};
constexpr unsigned char WineSupplement[] = {
#embed "wine_supplement.dll"
};

template <std::size_t Size>
std::string_view view(const unsigned char (&bytes)[Size]) {
    return {reinterpret_cast<const char*>(bytes), Size};
}

}  // namespace

const Programs& programs() {
    static const Programs All{
        view(Init),   view(Launch),           view(Pipes), view(Host),          view(Absent), view(Tar), view(Ipconfig),
        view(Whoami), view(Bcryptprimitives), view(Ws2),   view(WineSupplement)};
    return All;
}

}  // namespace porthole::winhost
