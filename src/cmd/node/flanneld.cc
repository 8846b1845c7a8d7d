#include <cstdlib>

#include "base/version.h"
#include "cmd/node/node_program.h"
#include "cni/flannel/options.h"
#include "hns/dll/load_hns.h"
#include "net/interface_address.h"

namespace porthole::cmd {
namespace {

namespace flannel = cni::flannel;

/// A Windows node's network manager alone, with the flags of Flannel's daemon.
class FlanneldProgram final : public NodeProgram {
public:
    FlanneldProgram(RealWorld& world, flannel::ProgramOptions options, Logger log)
        : NodeProgram(world, std::move(log), std::string("flanneld/") + PortholeVersion), options_(std::move(options)) {}

    Task<> start() override {
        CO_TRY_VOID(connect(options_.kubeconfig));
        CO_TRY_VOID(co_await find_address());
        make_daemon();
        informers_->start();
        scope_.spawn(run_daemon());
        scope_.spawn(connection_.follow());
        log_.info("flanneld started", {{"node", options_.daemon.node_name}, {"address", options_.daemon.address.to_string()}});
        co_return {};
    }

    Task<> close() override { return close_parts(); }

private:
    Result<void> choose_address() {
        flannel::DaemonOptions& daemon = options_.daemon;
        if (options_.own_address.empty()) {
            TRY(daemon.address, net::source_address_towards(connection_.server_behind()));
        } else {
            auto address = IpAddress::parse(options_.own_address);
            if (!address)
                return Error(Reason::BadRequest, "--iface must be this node's IP address here, not \"" + options_.own_address + "\"");
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
        if (options_.daemon.node_name.empty()) options_.daemon.node_name = own_node_name();
        hns_ = hns::own_hns(world_.loop, *world_.pool);
        routes_ = flannel::make_system_host_routes(options_.daemon.address);
        if (!routes_) routes_ = flannel::make_hns_host_routes(*hns_);
        daemon_ = std::make_unique<flannel::Daemon>(
            flannel::DaemonContext{world_.loop, *informers_, *client_, *hns_, *routes_, *files_, log_, net::list_of_interfaces},
            options_.daemon);
    }

    /// The service manager starts it anew.
    Task<> run_daemon() {
        const auto ended = co_await daemon_->run();
        if (!ended && !is_cancelled(ended)) end_because(ended.error());
        co_return {};
    }

    flannel::ProgramOptions options_;
    std::unique_ptr<hns::Hns> hns_;
    std::unique_ptr<flannel::HostRoutes> routes_;
    std::unique_ptr<flannel::Daemon> daemon_;
};

}  // namespace

int run_flanneld(std::vector<std::string> arguments) {
    const char* node_name = std::getenv("NODE_NAME");
    return run_node_program<FlanneldProgram, flannel::ProgramOptions>(
        {.name = "flanneld",
         .summary = "Run a Windows node's network manager alone.",
         .help = flannel::program_flags_help(),
         .parse = [name = std::string(node_name ? node_name : "")](
                      const auto& words, FileSystem& files) { return flannel::parse_program_options(words, name, files); }},
        arguments);
}

}  // namespace porthole::cmd
