#include "local_cluster/hosts/containerd.h"

#include <sstream>

#include "base/strings.h"
#include "bundled_images/bundled_images.h"
#include "runtime/files/durable_file.h"

namespace porthole::local_cluster {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {
constexpr Duration ContainerdLimit = 2min;  ///< for its start, and for an answer
}

std::string NodeContainerd::configuration() const {
    // Paths are ours and hold neither quotes nor backslashes (see prepare).
    const std::string run = state().string(), store = root().string();
    return R"(version = 2
root = ")" +
           store + R"("
state = ")" +
           run + R"(/containerd"
[grpc]
  address = ")" +
           data_.containerd_socket(node_.name).string() + R"("
[plugins."io.containerd.internal.v1.opt"]
  path = ")" +
           store + R"(/opt"
[plugins."io.containerd.grpc.v1.cri"]
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  sandbox_image = ")" +
           bundled_images::PauseImage + R"("
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = ")" +
           run + R"(/runc"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = ")" +
           (data_.node(node_.name) / "cni/net.d").string() + R"("
    max_conf_num = 1
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = ")" +
           (data_.node(node_.name) / "certs.d").string() + R"("
)";
}

Result<void> NodeContainerd::prepare() const {
    if (data_.root().string().find_first_of("\"\\\n") != std::string::npos) {
        return Error(Reason::BadRequest, "the data directory's name must not contain quotes or backslashes: " + data_.root().string());
    }
    std::error_code error;
    for (const fs::path& folder : {root(), state(), data_.node(node_.name) / "cni/net.d", data_.node(node_.name) / "certs.d"}) {
        fs::create_directories(folder, error);
        if (error) return Error(Reason::Io, "cannot make " + folder.string() + ": " + error.message());
    }
    return write_durably(data_.node(node_.name) / "containerd.toml", configuration());
}

ChildCommand NodeContainerd::command() const {
    ChildCommand command{{"containerd", "--config", (data_.node(node_.name) / "containerd.toml").string()}, log_file(), "", -1};
    if (!node_.network_namespace.empty()) command.network_namespace = "/run/netns/" + node_.network_namespace;
    return command;
}

Task<CommandOutput> NodeContainerd::ctr(std::vector<std::string> arguments, Duration limit) {
    Command command{.arguments = {"ctr", "--address", data_.containerd_socket(node_.name).string(), "--namespace", "k8s.io"},
                    .limit = limit};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    return processes_.run(std::move(command));
}

Task<> NodeContainerd::ensure_ready(EventLoop& loop) {
    const MonotonicTime deadline = loop.now() + ContainerdLimit;
    std::string last;
    for (;;) {
        CO_TRY(const CommandOutput listed, co_await ctr({"images", "list", "--quiet"}, ContainerdLimit));
        if (listed.exit_code == 0) {
            if (listed.output.contains(bundled_images::PauseImage)) co_return {};
            break;
        }
        last = listed.errors;
        if (loop.now() > deadline) {
            co_return Error(Reason::Timeout, "containerd does not respond (" + last + "); see " + log_file().string());
        }
        CO_TRY_VOID(co_await loop.sleep(30ms));
    }
    co_return co_await bundled_images::import_into_containerd(processes_, data_.containerd_socket(node_.name).string(),
                                                              *bundled_images::find_bundled_image(bundled_images::PauseImage));
}

Task<std::vector<std::string>> NodeContainerd::import(fs::path archive) {
    CO_TRY(const CommandOutput result, co_await ctr({"images", "import", archive.string()}, bundled_images::import_limit(archive)));
    // Lines such as "unpacking docker.io/library/x:1 (sha256:…)...done", and since containerd 2 "docker.io/library/x:1 saved".
    std::vector<std::string> names;
    std::istringstream lines(result.output);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first, second;
        words >> first >> second;
        if (first == "unpacking") names.push_back(second);
        if (second == "saved") names.push_back(first);
    }
    if (result.exit_code == 0) co_return names;
    if (!result.errors.contains("no match for platform")) {
        co_return Error(Reason::BadRequest, "importing " + archive.string() + ": " + std::string(trim(result.errors)) +
                                                "; an archive is the output of `docker save`, or an OCI image layout");
    }
    // Images for Windows only: what containerd has noted down of the one that it cannot unpack goes again.
    if (!names.empty()) {
        CO_TRY(const CommandOutput removed, co_await ctr({"images", "rm", names.back()}, ContainerdLimit));
        names.pop_back();
    }
    co_return names;
}

}  // namespace porthole::local_cluster
