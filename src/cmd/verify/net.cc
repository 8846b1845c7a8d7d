#include <algorithm>

#include "base/values/ip.h"
#include "bundled_images/bundled_images.h"
#include "cmd/program/flags.h"
#include "cmd/program/output_flag.h"
#include "cmd/program/progress.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/verify/router_routes.h"
#include "cmd/verify/verification.h"
#include "local_cluster/admin_client.h"
#include "local_cluster/state/data_dir.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

struct NetFlags {
    std::string kubeconfig, data = default_data_dir();
    OutputFlag output;
    verify::VerificationOptions options{.images = {bundled_images::WebImage, bundled_images::WebImage}};
    int seconds = 120;
    bool everything = false;
    std::string format = "ip";
};

int verify_network(RealWorld& world, AdminClient& admin, const NetFlags& flags) {
    SystemRandom random;
    Progress progress(world.loop, !flags.output.is_text());
    verify::VerificationOptions options = flags.options;
    options.patience = std::chrono::seconds(flags.seconds);
    verify::Verification verification(world.loop, admin.client, random, options, [&](const std::string& step) { progress.note(step); });
    const auto report = world.run(verification.run());
    if (!report) return fail(report.error().message);
    std::fputs(
        (flags.output.is_text() ? verify::to_text(*report, flags.everything) : flags.output.document(verify::to_value(*report))).c_str(),
        stdout);
    return report->passed() ? 0 : 1;
}

/// By which nodes reach the API server; "" where the cluster does not say it in IPv4.
std::string control_plane_address(RealWorld& world, AdminClient& admin) {
    const client::NamespacedName key{"default", "kubernetes"};
    const auto endpoints = world.run(admin.client.get<verify::core::Endpoints>(key));
    if (!endpoints || endpoints->subsets.empty() || endpoints->subsets.front().addresses.empty()) return "";
    const auto address = IpAddress::parse(endpoints->subsets.front().addresses.front().ip);
    return address && address->is_v4() ? address->to_string() : "";
}

int print_routes(RealWorld& world, AdminClient& admin, const NetFlags& flags) {
    const auto nodes = world.run(admin.client.list<verify::core::Node>());
    if (!nodes) return fail(nodes.error().message);
    const auto text = verify::router_routes(nodes->items, flags.format, control_plane_address(world, admin));
    if (!text) return fail(text.error().message);
    std::fputs(text->c_str(), stdout);
    return 0;
}

}  // namespace

int run_net(std::vector<std::string> arguments) {
    NetFlags flags;
    CLI::App app("Check the network of a Porthole cluster or any other.", "net");
    app.require_subcommand(1);
    const auto add_common = [&](CLI::App* command) {
        command->add_option("--kubeconfig", flags.kubeconfig,
                            "kubeconfig for the API server (default: the cluster on this machine, otherwise kubectl's)");
        command->add_option("--data", flags.data, "the data directory of a cluster on this machine")->capture_default_str();
    };
    CLI::App* check = app.add_subcommand("verify", "test every path between nodes, pods and services, from pods on each node");
    add_common(check);
    check->footer(
        "Porthole's Linux nodes and emulated Windows hosts contain the image of the check; nothing is downloaded.\n\n"
        "Examples:\n"
        "  porthole net verify\n"
        "  porthole net verify --kubeconfig other --linux-image registry.k8s.io/e2e-test-images/agnhost:2.53");
    flags.output.add_flags(*check);
    check
        ->add_option("--linux-image", flags.options.images.linux_image,
                     "image for Linux nodes that are not Porthole's: agnhost, or one with a shell, wget, ping and httpd")
        ->capture_default_str();
    check
        ->add_option("--windows-image", flags.options.images.windows_image,
                     "image for real Windows hosts: agnhost, or the sample's programs on one of Microsoft's base images")
        ->capture_default_str();
    check->add_option("--outside", flags.options.outside, "also test this URL outside the cluster (http://host[:port]/)");
    check->add_option("--host-port", flags.options.host_port, "free port on the nodes; 0: do not check host ports")->capture_default_str();
    check->add_option("--cluster-domain", flags.options.cluster_domain, "domain of services")->capture_default_str();
    check->add_option("--timeout", flags.seconds, "seconds to wait for pods to start, and the same again for their tests")
        ->capture_default_str();
    check->add_flag("-v,--verbose", flags.everything, "also list the tests that pass");
    CLI::App* routes = app.add_subcommand("routes", "print the routes that a router in front of the nodes needs");
    add_common(routes);
    routes->add_option("--format", flags.format, "ip, powershell, csv, json or yaml")->capture_default_str();
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (!flags.options.outside.empty() && !flags.options.outside.starts_with("http://"))
        return fail("--outside must be a URL that begins with http://");

    RealWorld world;
    const auto admin = connect_as_admin(world.loop, flags.kubeconfig, flags.data);
    if (!admin) return fail(admin.error().message);
    return check->parsed() ? verify_network(world, **admin, flags) : print_routes(world, **admin, flags);
}

}  // namespace porthole::cmd
