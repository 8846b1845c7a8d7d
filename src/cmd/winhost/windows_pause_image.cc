#include "cmd/winhost/windows_pause_image.h"

namespace porthole::cmd {
namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char Archive[] = {
#embed "windows-pause.tar"
};

}  // namespace

std::string_view windows_pause_image() { return {Archive, sizeof Archive}; }

}  // namespace porthole::cmd
