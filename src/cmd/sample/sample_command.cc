#include "cmd/program/flags.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/sample/sample.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/next_steps.h"
#include "local_cluster/state/data_dir.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

struct SampleFlags {
    std::string kubeconfig, data = default_data_dir(), namespace_ = "default";
    int seconds = 120;
    bool print = false, remove = false;
};

Task<std::string> make_sample(sample::Sample& web, SampleFlags flags) {
    CO_TRY_VOID(co_await web.apply());
    CO_TRY_VOID(co_await web.wait_until_ready(std::chrono::seconds(flags.seconds)));
    CO_TRY(const std::string ways, co_await web.ways_to_look());
    const std::string place = flags.namespace_ == "default" ? "" : " --namespace " + flags.namespace_;
    const std::string cluster = !flags.kubeconfig.empty()          ? " --kubeconfig " + flags.kubeconfig
                                : flags.data != default_data_dir() ? " --data " + flags.data
                                                                   : "";
    co_return ways + "remove it:\n  " + typed_program() + " sample web --delete" + place + cluster + "\n";
}

int run_web(const SampleFlags& flags) {
    RealWorld world;
    const auto admin = connect_as_admin(world.loop, flags.kubeconfig, flags.data);
    if (!admin) return fail(admin.error().message);
    Progress progress(world.loop, false);
    const auto told = [&](const std::string& line) { progress.note(line); };
    auto web = sample::Sample::read(world.loop, (*admin)->client, sample::web_manifest(), flags.namespace_, told);
    if (!web) return fail(web.error().message);
    if (flags.remove) {
        const auto removed = world.run(web->remove());
        return removed ? 0 : fail(removed.error().message);
    }
    const auto ways = world.run(make_sample(*web, flags));
    if (!ways) return fail(ways.error().message);
    std::fputs(ways->c_str(), stdout);
    return 0;
}

}  // namespace

int run_sample(std::vector<std::string> arguments) {
    SampleFlags flags;
    CLI::App app("Create a sample workload to check that a cluster works. Its image is part of porthole; nothing is downloaded.", "sample");
    app.require_subcommand(1);
    CLI::App* web = app.add_subcommand("web", "a web server on Linux and one on Windows, with a service in front of both");
    web->add_flag("--print", flags.print, "print the manifest and do nothing");
    web->add_flag("--delete", flags.remove, "delete what the command has created");
    web->add_option("-n,--namespace", flags.namespace_, "namespace to create it in")->capture_default_str();
    web->add_option("--timeout", flags.seconds, "seconds to wait for its pods to become ready")->capture_default_str();
    web->add_option("--kubeconfig", flags.kubeconfig,
                    "kubeconfig for the API server (default: the cluster on this machine, otherwise kubectl's)");
    web->add_option("--data", flags.data, "the data directory of a cluster on this machine")->capture_default_str();
    web->footer(
        "Examples:\n"
        "  porthole sample web\n"
        "  porthole sample web --print > web.yaml      to change it and apply it with kubectl\n"
        "  porthole sample web --delete");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (!flags.print) return run_web(flags);
    std::fwrite(sample::web_manifest().data(), 1, sample::web_manifest().size(), stdout);
    return 0;
}

}  // namespace porthole::cmd
