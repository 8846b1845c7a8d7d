#include <cstdio>
#include <cstdlib>

#include "cmd/node/system.h"
#include "cmd/program/runtime_setup.h"
#include "cni/plugin/delegate.h"
#include "cni/plugin/flannel/flannel_plugin.h"
#include "cni/plugin/hns/wincni.h"
#include "cni/plugin/host_local/host_local.h"
#include "hns/dll/load_hns.h"
#include "runtime/processes/process.h"

namespace porthole::cmd {
namespace {

std::map<std::string, std::string> cni_environment() {
    std::map<std::string, std::string> found;
    for (const char* name : {"CNI_COMMAND", "CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_ARGS", "CNI_PATH", "CNI_NETNS_OVERRIDE"}) {
        if (const char* value = std::getenv(name)) found[name] = value;
    }
    return found;
}

std::string read_standard_input() {
    std::string input;
    char part[4096];
    for (std::size_t count; (count = std::fread(part, 1, sizeof part, stdin)) > 0;) input.append(part, count);
    return input;
}

/// All plugins of this program: one is served, the others are there for it to call.
class Plugins {
public:
    explicit Plugins(RealWorld& world) : world_(world), hns_(hns::own_hns(world.loop, *world.pool)) {
        delegates_.add("host-local", host_local_);
    }

    int serve(cni::Plugin& plugin) {
        const auto output = world_.run(cni::serve_cni(plugin, cni_environment(), read_standard_input(), OwnNetworkSystem.path_separator));
        if (!output) return fail(output.error().message);
        std::fwrite(output->text.data(), 1, output->text.size(), stdout);
        return output->exit_code;
    }

    /// Those that a meta plugin calls without starting a program for each.
    void add(const char* type, cni::Plugin& plugin) { delegates_.add(type, plugin); }

    cni::WindowsPluginContext context() { return {world_.loop, *hns_, delegates_}; }
    cni::Plugin& host_local() { return host_local_; }
    cni::FlannelPlugin flannel() { return {*files_, delegates_, cni::default_flannel_plugin_options()}; }

private:
    RealWorld& world_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    std::unique_ptr<cni::FileLocks> locks_ = cni::make_file_locks();
    std::unique_ptr<hns::Hns> hns_;
    cni::HostLocal host_local_{*files_, *locks_, cni::default_host_local_options()};
    cni::Delegates delegates_{*files_, world_.processes.get(), OwnNetworkSystem.program_suffix};
};

int serve_hns_plugin(cni::NetworkStyle style) {
    RealWorld world;
    Plugins plugins(world);
    cni::HnsPlugin plugin(plugins.context(), style);
    return plugins.serve(plugin);
}

}  // namespace

int run_win_bridge(std::vector<std::string>) { return serve_hns_plugin(cni::NetworkStyle::Bridge); }
int run_win_overlay(std::vector<std::string>) { return serve_hns_plugin(cni::NetworkStyle::Overlay); }

int run_wincni(std::vector<std::string>) {
    RealWorld world;
    Plugins plugins(world);
    cni::WinCni plugin(plugins.context());
    return plugins.serve(plugin);
}

int run_flannel(std::vector<std::string>) {
    RealWorld world;
    Plugins plugins(world);
    cni::HnsPlugin bridge(plugins.context(), cni::NetworkStyle::Bridge), overlay(plugins.context(), cni::NetworkStyle::Overlay);
    plugins.add("win-bridge", bridge);
    plugins.add("win-overlay", overlay);
    cni::FlannelPlugin flannel = plugins.flannel();
    return plugins.serve(flannel);
}

int run_host_local(std::vector<std::string>) {
    RealWorld world;
    Plugins plugins(world);
    return plugins.serve(plugins.host_local());
}

}  // namespace porthole::cmd
