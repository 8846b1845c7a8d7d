#include "kubelet/cri/cri_grpc.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "net/grpc/grpc.h"
#include "net/http/http_server.h"
#include "runtime/run_task.h"
#include "schema/protobuf/protobuf.h"

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

/// A runtime that has the version method in one version of CRI only.
class OneVersionRuntime {
public:
    explicit OneVersionRuntime(const std::string& method)
        : path_("/tmp/porthole-cri-" + std::to_string(::getpid()) + ".sock"), server_(loop, grpc_, {}, Logger(make_null_sink(), "cri")) {
        grpc_.add(method, [this](std::string) { return answer(); });
        EXPECT_TRUE(server_.listen_unix(path_));
        client_ = connect_runtime(loop, "unix://" + path_);
    }
    ~OneVersionRuntime() {
        EXPECT_TRUE(run(client_->close()));
        EXPECT_TRUE(run(server_.close()));
        ::unlink(path_.c_str());
    }
    Result<cri::VersionResponse> version() { return run(client_->runtime().version({})); }

    int asked = 0;

private:
    Task<std::string> answer() {
        ++asked;
        cri::VersionResponse response;
        response.runtime_name = "containerd";
        co_return schema::encode_protobuf(response);
    }
    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, std::move(task));
    }

    AsioLoop loop;
    std::string path_;
    net::GrpcHandler grpc_;
    net::HttpServer server_;
    std::unique_ptr<GrpcRuntime> client_;
};

// RUN-02
TEST(RuntimeVersion, RuntimesBeforeContainerd16AreAskedInTheOlderVersion) {
    OneVersionRuntime runtime("/runtime.v1alpha2.RuntimeService/Version");
    for (int round = 1; round <= 2; ++round) {
        const auto version = runtime.version();
        ASSERT_TRUE(version) << version.error().message;
        EXPECT_EQ(version->runtime_name, "containerd");
        EXPECT_EQ(runtime.asked, round);
    }
}

// RUN-02
TEST(RuntimeVersion, WhatNeitherVersionHasIsRefusedAsItWas) {
    OneVersionRuntime runtime("/runtime.v1.RuntimeService/Status");
    EXPECT_EQ(runtime.version().error().reason, Reason::MethodNotAllowed);
}

}  // namespace
}  // namespace porthole::kubelet
