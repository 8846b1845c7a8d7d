#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/version.h"
#include "cmd/program/command.h"
#include "cmd/program/node_program.h"
#include "cmd/program/program_log.h"
#include "cni/flannel/options.h"
#include "hns/dll/own_hns.h"
#include "kubelet/node/host.h"
#include "net/interface_address.h"
#include "net/source_address.h"
#include "node_join/connection.h"

namespace porthole::cmd {

using namespace node_join;
namespace {

namespace flannel = cni::flannel;

/// A Windows node's network manager alone, with the flags of Flannel's daemon.
class FlanneldProgram final : public NodeProgram {
public:
    FlanneldProgram(RealWorld& world, FileSystem& files, flannel::ProgramOptions options, Logger log)
        : world_(world),
          files_(files),
          options_(std::move(options)),
          log_(std::move(log)),
          connection_({world.loop, files, random_, connect_by_http(world.loop, std::string("flanneld/") + PortholeVersion),
                       log_.named("certificates")}),
          scope_(world.loop, [this](const Error& error) { log_.error("the network manager ended", {{"error", error.message}}); }) {}

    Task<> start() override {
        for (const std::string& warning : options_.warnings) log_.warn(warning);
        CO_TRY_VOID(connect());
        CO_TRY_VOID(co_await find_address());
        make_daemon();
        informers_->start();
        scope_.spawn(daemon_->run());
        scope_.spawn(connection_.follow());
        log_.info("flanneld started", {{"node", options_.daemon.node_name}, {"address", options_.daemon.address.to_string()}});
        co_return {};
    }

    Task<> close() override {
        CO_TRY_VOID(co_await scope_.close());
        if (informers_) CO_TRY_VOID(co_await informers_->close());
        co_return {};
    }

    void failed(const Error& error) override { log_.error("flanneld cannot run", {{"error", error.message}}); }

private:
    Result<void> connect() {
        TRY_VOID(connection_.open(options_.kubeconfig));
        client_ = std::make_unique<client::Client>(connection_.transport());
        informers_ = std::make_unique<client::Informers>(client::InformerContext{world_.loop, *client_, random_, log_.named("informers")});
        return {};
    }

    Result<void> choose_address() {
        flannel::DaemonOptions& daemon = options_.daemon;
        if (options_.own_address.empty()) {
            TRY(daemon.address, net::source_address_towards(connection_.config().server));
        } else {
            auto address = IpAddress::parse(options_.own_address);
            if (!address)
                return Error(Reason::BadRequest, "--iface takes this node's IP address here, not \"" + options_.own_address + "\"");
            daemon.address = *address;
        }
        return {};
    }

    /// Services start before the machine knows all of its adapters.
    Task<> find_address() {
        using namespace std::chrono_literals;
        for (const MonotonicTime end = world_.loop.now() + 20s;;) {
            const auto chosen = choose_address();
            flannel::DaemonOptions& daemon = options_.daemon;
            const auto facts = chosen ? net::interface_with(daemon.address) : std::nullopt;
            if (facts) {
                daemon.address_network = IpPrefix(daemon.address, facts->prefix_length);
                daemon.mtu = facts->mtu;
                co_return {};
            }
            if (world_.loop.now() > end || (!chosen && chosen.error().reason == Reason::BadRequest)) {
                if (!chosen) co_return chosen.error();
                co_return Error(Reason::NotFound, "no interface of this machine has the address " + daemon.address.to_string());
            }
            CO_TRY_VOID(co_await world_.loop.sleep(1s));
        }
    }

    void make_daemon() {
        if (options_.daemon.node_name.empty()) {
            options_.daemon.node_name = kubelet::make_host(files_)->describe().hostname;
            std::ranges::transform(options_.daemon.node_name, options_.daemon.node_name.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        }
        hns_ = hns::own_hns(world_.loop, *world_.pool);
        routes_ = flannel::make_system_host_routes(options_.daemon.address);
        if (!routes_) routes_ = flannel::make_hns_host_routes(*hns_);
        daemon_ = std::make_unique<flannel::Daemon>(
            flannel::DaemonContext{world_.loop, *informers_, *client_, *hns_, *routes_, files_, log_}, options_.daemon);
    }

    RealWorld& world_;
    FileSystem& files_;
    flannel::ProgramOptions options_;
    Logger log_;
    SystemRandom random_;
    NodeConnection connection_;
    std::unique_ptr<client::Client> client_;
    std::unique_ptr<client::Informers> informers_;
    std::unique_ptr<hns::Hns> hns_;
    std::unique_ptr<flannel::HostRoutes> routes_;
    std::unique_ptr<flannel::Daemon> daemon_;
    Scope scope_;
};

}  // namespace

int run_flanneld(std::vector<std::string> arguments) {
    if (std::ranges::any_of(arguments, [](const std::string& word) { return word == "--help" || word == "-h"; })) {
        std::printf("Run a Windows node's network manager alone.\n\n%s", flannel::program_flags_help().c_str());
        return 0;
    }
    const auto files = make_file_system();
    const char* node_name = std::getenv("NODE_NAME");
    auto options = flannel::parse_program_options(arguments, node_name ? node_name : "", *files);
    if (!options) {
        (void)fail(options.error().message);
        return 255;
    }
    const std::string service = options->windows_service ? "flanneld" : "";
    RealWorld world;
    Logger log(
        open_log({.to_stderr = options->log_to_stderr, .verbosity = options->verbosity, .directory = options->log_directory}, "flanneld"),
        "flanneld");
    FlanneldProgram program(world, *files, *std::move(options), std::move(log));
    return run_node_program(world, program, service);
}

}  // namespace porthole::cmd
