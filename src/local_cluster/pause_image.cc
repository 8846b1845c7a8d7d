#include "cmd/pause_image.h"

namespace porthole::cmd {
namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char Archive[] = {
#embed "pause.tar"
};

}  // namespace

std::string_view pause_image() { return {Archive, sizeof Archive}; }

}  // namespace porthole::cmd
