#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/hosts/containerd.h"
#include "local_cluster/hosts/emulated_host.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

namespace fs = std::filesystem;

/// The archives that `path` stands for: itself, an OCI layout packed into `scratch`, or the .tar files of a folder.
Task<std::vector<fs::path>> archives_of(ProcessRunner& processes, fs::path path, fs::path scratch) {
    std::vector<fs::path> archives;
    std::error_code code;
    if (!fs::exists(path, code))
        co_return Error(Reason::NotFound, code ? path.string() + ": " + code.message() : path.string() + " does not exist");
    if (!fs::is_directory(path, code)) {
        archives.push_back(path);
    } else if (fs::exists(path / "oci-layout", code)) {
        const fs::path packed = scratch / "layout.tar";
        CO_TRY(const auto result, co_await processes.run({.arguments = {"tar", "-C", path.string(), "-cf", packed.string(), "."}}));
        if (result.exit_code != 0) co_return Error(Reason::Io, "packing " + path.string() + ": " + result.errors);
        archives.push_back(packed);
    } else {
        for (const auto& entry : fs::directory_iterator(path, code)) {
            if (entry.path().extension() == ".tar") archives.push_back(entry.path());
        }
        std::ranges::sort(archives);
        if (archives.empty()) co_return Error(Reason::NotFound, path.string() + " contains neither .tar files nor an OCI layout");
    }
    co_return archives;
}

Task<std::vector<std::string>> import_into(RealWorld& world, const DataDir& data, NodeHost node, fs::path archive) {
    if (node.is_windows()) {
        EmulatedHost host(world.loop, *world.processes, data, node);
        co_return co_await host.import(archive);
    }
    NodeContainerd containerd(*world.processes, data, node);
    co_return co_await containerd.import(archive);
}

Task<> load(RealWorld& world, const DataDir& data, const Cluster& cluster, fs::path path) {
    const fs::path scratch = data.runtime() / "load";
    std::error_code code;
    fs::create_directories(scratch, code);
    fs::permissions(scratch, fs::perms::owner_all, code);
    CO_TRY(const auto archives, co_await archives_of(*world.processes, path, scratch));
    for (const fs::path& archive : archives) {
        bool taken = false;
        for (const NodeHost& node : cluster.nodes(data)) {
            CO_TRY(const auto names, co_await import_into(world, data, node, archive));
            for (const std::string& name : names) std::printf("%s: %s\n", node.name.c_str(), name.c_str());
            taken = taken || !names.empty();
        }
        if (!taken) co_return Error(Reason::BadRequest, archive.string() + " contains no image that a node of this cluster can run");
    }
    co_return {};
}

}  // namespace

int run_image(std::vector<std::string> arguments) {
    std::string path = default_data_dir();
    std::vector<std::string> files;
    CLI::App app("Load container images into the nodes on this machine.", "image");
    CLI::App* load_command = app.add_subcommand(
        "load", "load images from docker or OCI archives (FILE), or from a directory of archives or an OCI layout (DIR)");
    load_command->add_option("files", files, "FILE|DIR")->required();
    load_command->add_option("--data", path, "the cluster's data directory")->capture_default_str();
    app.require_subcommand(1);
    load_command->footer("Examples:\n  docker save app:1 -o app.tar && porthole image load app.tar\n  porthole image load images/");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    RealWorld world;
    const DataDir data(path);
    const auto cluster = Cluster::load(data);
    if (!cluster) return fail(cluster.error().message);
    if (!is_running(cluster->supervisor))
        return fail("the cluster in " + data.root().string() + " is not running; start it with `porthole up" + data.flag() + "`");
    for (const std::string& file : files) {
        if (const auto loaded = world.run(load(world, data, *cluster, file)); !loaded) return fail(loaded.error().message);
    }
    return 0;
}

}  // namespace porthole::cmd
