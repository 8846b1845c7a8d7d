#include "local_cluster/pause_image.h"

namespace porthole::local_cluster {
namespace {

#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr char Archive[] = {
#embed "pause.tar"
};

}  // namespace

std::string_view pause_image() { return {Archive, sizeof Archive}; }

}  // namespace porthole::local_cluster
