#include "kubelet/cri/cri_grpc.h"

#include <gtest/gtest.h>

namespace porthole::kubelet {
namespace {

TEST(RuntimeEndpoint, NamesAUnixSocketOrAPipe) {
    struct {
        const char *endpoint, *path;
    } const rows[] = {
        {"unix:///run/containerd/containerd.sock", "/run/containerd/containerd.sock"},
        {"/run/crio/crio.sock", "/run/crio/crio.sock"},
        {"npipe:////./pipe/containerd-containerd", R"(\\.\pipe\containerd-containerd)"},
        {"npipe://./pipe/containerd-containerd", R"(\\.\pipe\containerd-containerd)"},
        {"npipe:///pipe/containerd-containerd", R"(\\.\pipe\containerd-containerd)"},
        {R"(npipe:\\.\pipe\containerd-containerd)", R"(\\.\pipe\containerd-containerd)"},
        {R"(\\.\pipe\containerd-containerd)", R"(\\.\pipe\containerd-containerd)"},
    };
    for (const auto& row : rows) EXPECT_EQ(runtime_path(row.endpoint), row.path);
}

}  // namespace
}  // namespace porthole::kubelet
