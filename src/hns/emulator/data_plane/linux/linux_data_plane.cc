#include "hns/emulator/data_plane/linux/linux_data_plane.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/strings.h"
#include "hns/emulator/data_plane/linux/link_tables.h"
#include "hns/emulator/data_plane/linux/network_namespace.h"
#include "hns/emulator/data_plane/linux/planner.h"
#include "hns/emulator/data_plane/linux/rules.h"
#include "netlink/netlink.h"

namespace porthole::hns::emulator {

namespace {

/// Of a host that routes for its endpoints and answers ARP in their place. New links take over the defaults.
const std::vector<std::string> HostSettings = {
    "net.ipv4.ip_forward=1",
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
    "net.ipv4.conf.default.proxy_arp=1",
    "net.ipv4.conf.all.send_redirects=0",
    "net.ipv4.conf.default.send_redirects=0",
    "net.ipv4.conf.all.accept_redirects=0",
    "net.ipv4.neigh.default.proxy_delay=0",
    "net.ipv4.icmp_ratelimit=0",  // who asks for a service that is not there is told every time
    "net.bridge.bridge-nf-call-iptables=0",
};

bool is_own(const LinkState& link) { return link.name.starts_with("hns"); }
std::string friendly_name(const std::string& adapter) { return "vEthernet (" + adapter + ")"; }
bool is_virtual_adapter(const LinkState& link) { return link.alias.starts_with("vEthernet (") && !is_own(link); }
std::string adapter_behind(const LinkState& link) {
    const std::size_t start = friendly_name("").size() - 1;
    return link.alias.substr(start, link.alias.size() - start - 1);
}

/// A socket of netfilter in the namespace at `path`; "" for the one of this process.
Result<std::unique_ptr<net::NetlinkSocket>> netfilter_socket(const std::string& path) {
    if (path.empty()) return std::make_unique<net::NetlinkSocket>(NETLINK_NETFILTER);
    std::unique_ptr<net::NetlinkSocket> socket;
    TRY_VOID(in_network_namespace(path, [&] { socket = std::make_unique<net::NetlinkSocket>(NETLINK_NETFILTER); }));
    return socket;
}

class LinuxDataPlane final : public DataPlane {
public:
    LinuxDataPlane(ProcessRunner& processes, WorkerPool& pool, Logger log, LinuxOptions options)
        : processes_(processes), pool_(pool), log_(std::move(log)), options_(std::move(options)), planner_(options_) {}

    Task<> apply(const Model& before, const Model& after, const Changes& changes) override {
        const Plan plan = planner_.change(before, after, changes);
        for (const Step& step : plan.steps) {
            auto done = co_await run(step);
            if (done) continue;
            planner_.revert();
            for (const Step& back : plan.rollback) {
                if (!co_await run(back, /*anyhow=*/true)) log_.warn("could not undo", {{"program", back.program}});
            }
            co_return std::move(done).error();
        }
        co_return {};
    }

    Task<> restore(const Model& model) override {
        CO_TRY_VOID(co_await prepare_host());
        planner_ = Planner(options_);
        planner_.reset(model);
        CO_TRY_VOID(co_await remove_strangers());
        CO_TRY_VOID(co_await call({"nft", "-f", "-"}, "", planner_.all_rules()));
        CO_TRY(const auto missing, co_await missing_fixtures());
        for (const Step& step : unmaking_steps(missing.remade)) CO_TRY_VOID(co_await run(step));
        for (const Step& step : making_steps(missing.made)) CO_TRY_VOID(co_await run(step));
        co_return {};
    }

    Task<Counters> counters(std::string endpoint_id) override {
        CO_TRY(const auto links, co_await links_of("", "address"));
        const auto found = std::ranges::find(links, "hns-" + endpoint_id, &LinkState::alias);
        co_return found == links.end() ? Counters() : found->counters;
    }

    Task<std::vector<Adapter>> adapters() override {
        CO_TRY(const auto links, co_await links_of("", "address"));
        std::vector<Adapter> found;
        for (const LinkState& link : links) {
            if (link.name == "lo" || is_own(link) || is_virtual_adapter(link)) continue;
            found.push_back({.name = link.name, .mac = canonical_mac(link.mac)});
            for (const LinkState& holder : links) {
                if (holder.name != link.name && holder.name != link.master) continue;
                for (const LinkAddress& address : holder.addresses) {
                    if (!address.is_v4 || !found.back().address.empty()) continue;
                    const std::size_t slash = address.text.find('/');
                    found.back().address = address.text.substr(0, slash);
                    found.back().prefix_length = std::stoi(address.text.substr(slash + 1));
                }
            }
        }
        co_return found;
    }

    std::string namespace_path(const std::string& id) const override { return options_.namespace_folder + "/" + id; }

    Task<> lose_rules() override {
        CO_TRY_VOID(co_await call({"nft", "-f", "-"}, "", remove_table()));
        co_return {};
    }

private:
    struct Missing {
        std::vector<Fixture> remade, made;
    };

    Task<std::string> call(std::vector<std::string> arguments, std::string place, std::string input) {
        Command command{.arguments = std::move(arguments),
                        .input = std::move(input),
                        .network_namespace = place.empty() ? options_.host_namespace : std::move(place),
                        .limit = std::chrono::seconds(30)};
        const std::string program = command.arguments[0];
        CO_TRY(CommandOutput output, co_await processes_.run(std::move(command)));
        constexpr std::size_t Shown = 1000;
        if (output.exit_code != 0) co_return Error(Reason::Io, program + ": " + output.errors.substr(0, Shown));
        co_return std::move(output.output);
    }

    /// `anyhow`: as far as it goes. What is taken away may be gone already; but a program that was ended may have left it.
    Task<> run(Step step, bool anyhow = false) {
        if (step.program == "nft") {
            co_return co_await change_rules(std::move(step));
        }
        if (step.program == "namespace") {
            co_return co_await change_namespaces(std::move(step));
        }
        if (step.program == "switch") {
            for (const std::string& adapter : split_nonempty(step.lines, '\n')) {
                CO_TRY_VOID(co_await (step.makes ? make_switch(adapter) : remove_switch(adapter)));
            }
            co_return {};
        }
        const bool force = anyhow || !step.makes;
        std::vector<std::string> arguments = {step.program};
        if (force) arguments.push_back("-force");
        arguments.insert(arguments.end(), {"-batch", "-"});
        const auto done = co_await call(std::move(arguments), step.place, std::move(step.lines));
        const bool ended = !done && (done.error().reason == Reason::Timeout || is_cancelled(done));
        if (!done && (!force || ended)) co_return done.error();
        co_return {};
    }

    /// Rules that were lost behind our back make small changes fail: then all are written anew.
    Task<> change_rules(Step step) {
        if (!step.elements.empty()) {
            const auto changed = co_await change_elements(std::move(step.elements));
            if (changed || is_cancelled(changed)) co_return changed;
            log_.debug("elements not changed, trying nft", {{"error", changed.error().message}});
        }
        const auto changed = co_await call({"nft", "-f", "-"}, "", std::move(step.lines));
        if (changed) co_return {};
        log_.warn("rules were changed by another program, writing all", {{"error", changed.error().message}});
        CO_TRY_VOID(co_await call({"nft", "-f", "-"}, "", planner_.all_rules()));
        co_return {};
    }

    Task<> change_elements(std::vector<net::NftChange> changes) {
        co_return co_await run_blocking<void>(pool_, [this, changes = std::move(changes)]() -> Result<void> {
            if (!netfilter_) {
                TRY(netfilter_, netfilter_socket(options_.host_namespace));
            }
            return net::change_nft_table(*netfilter_, RuleTable, changes);
        });
    }

    Task<> change_namespaces(Step step) {
        co_return co_await run_blocking<void>(pool_, [step = std::move(step)]() -> Result<void> {
            for (const std::string& path : split_nonempty(step.lines, '\n')) {
                TRY_VOID(step.makes ? ensure_network_namespace(path) : remove_network_namespace(path));
            }
            return {};
        });
    }

    Task<std::vector<LinkState>> links_of(std::string place, const char* kind) {
        CO_TRY(const std::string json, co_await call({"ip", "-json", "-details", "-stats", kind}, std::move(place), ""));
        co_return read_links(json);
    }

    /// A bridge with the adapter's own MAC, so that nobody outside notices; the adapter's addresses and routes move to it.
    Task<> make_switch(std::string adapter) {
        const std::string bridge = virtual_adapter(adapter);
        CO_TRY(const auto links, co_await links_of("", "address"));
        const auto link = std::ranges::find(links, adapter, &LinkState::name);
        if (link == links.end()) co_return Error(Reason::NotFound, "no network adapter " + adapter);
        const bool exists = std::ranges::find(links, bridge, &LinkState::name) != links.end();
        if (exists && link->master == bridge) co_return {};
        std::string lines;
        if (exists) lines += fmt::format("link del dev {}\n", bridge);
        lines += fmt::format(
            "link add name {0} address {1} mtu {2} type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n"
            "link set dev {0} alias \"{3}\"\n",
            bridge, link->mac, link->mtu, friendly_name(adapter));
        CO_TRY(const std::string move, co_await moving_lines(*link, bridge));
        lines += move + fmt::format("link set dev {} master {} up\n", adapter, bridge);
        CO_TRY(const std::string routes, co_await routes_of(adapter, bridge));
        CO_TRY_VOID(co_await call({"ip", "-batch", "-"}, "", lines + routes));
        co_return {};
    }

    Task<> remove_switch(std::string adapter) {
        const std::string bridge = virtual_adapter(adapter);
        CO_TRY(const auto links, co_await links_of("", "address"));
        const auto link = std::ranges::find(links, bridge, &LinkState::name);
        if (link == links.end()) co_return {};
        std::string lines;
        if (std::ranges::find(links, adapter, &LinkState::name) != links.end()) {
            CO_TRY(const std::string move, co_await moving_lines(*link, adapter));
            CO_TRY(const std::string routes, co_await routes_of(bridge, adapter));
            lines = fmt::format("link set dev {} nomaster\n", adapter) + move + routes;
        }
        CO_TRY_VOID(co_await call({"ip", "-batch", "-"}, "", lines + fmt::format("link del dev {}\n", bridge)));
        co_return {};
    }

    static Task<std::string> moving_lines(LinkState from, std::string to) {
        std::string lines;
        for (const LinkAddress& address : from.addresses) lines += fmt::format("addr del {} dev {}\n", address.text, from.name);
        lines += fmt::format("link set dev {} up\n", to);
        for (const LinkAddress& address : from.addresses) {
            lines += fmt::format("addr add {} {} dev {}\n", address.text, address.is_v4 ? "brd +" : "nodad", to);
        }
        co_return lines;
    }

    Task<std::string> routes_of(std::string from, std::string to) {
        CO_TRY(const std::string json, co_await call({"ip", "-json", "route", "show", "table", "main", "dev", from}, "", ""));
        CO_TRY(const auto routes, read_made_routes(json));
        std::string lines;
        for (const std::string& route : routes) lines += fmt::format("route replace {} dev {}\n", route, to);
        co_return lines;
    }

    Task<> prepare_host() {
        std::vector<std::string> arguments = {"sysctl", "-q", "-e", "-w"};
        arguments.insert(arguments.end(), HostSettings.begin(), HostSettings.end());
        CO_TRY_VOID(co_await call(std::move(arguments), "", ""));
        CO_TRY(const auto links, co_await links_of("", "address"));
        for (const LinkState& link : links) {
            if (link.name != "lo" && !is_own(link) && !is_virtual_adapter(link)) options_.mtu = link.mtu;
        }
        co_return {};
    }

    /// Takes away what looks like ours and is not wanted.
    Task<> remove_strangers() {
        const std::vector<Fixture> wanted = planner_.state().fixtures();
        const auto is_wanted = [&](const std::string& key) { return std::ranges::binary_search(wanted, key, {}, &Fixture::key); };
        std::string lines;
        CO_TRY(const auto links, co_await links_of("", "address"));
        for (const LinkState& link : links) {
            const bool other_end = link.name.starts_with("hnssp") || link.name.starts_with("hnshp");
            if (is_own(link) && !other_end && !is_wanted("link " + link.name)) lines += "link del dev " + link.name + "\n";
        }
        CO_TRY(const std::string routes_json, co_await call({"ip", "-json", "route", "show", "table", "all", "proto", "81"}, "", ""));
        CO_TRY(const auto routes, read_own_routes(routes_json));
        for (const auto& [key, words] : routes) {
            if (!is_wanted(key)) lines += "route del " + words + "\n";
        }
        CO_TRY(const std::string rules_json, co_await call({"ip", "-json", "-details", "rule"}, "", ""));
        CO_TRY(const auto rules, read_own_rules(rules_json));
        for (const std::uint32_t priority : rules) {
            if (!is_wanted(fmt::format("rule {}", priority))) lines += fmt::format("rule del pref {}\n", priority);
        }
        CO_TRY_VOID(co_await run({.program = "ip", .makes = false, .lines = lines}));
        for (const LinkState& link : links) {
            const bool unwanted = is_virtual_adapter(link) && !is_wanted("switch " + adapter_behind(link));
            if (unwanted) {
                CO_TRY_VOID(co_await remove_switch(adapter_behind(link)));
            }
        }
        CO_TRY_VOID(co_await remove_strange_namespaces());
        co_return {};
    }

    Task<> remove_strange_namespaces() {
        std::set<std::string> wanted;
        for (const Fixture& fixture : planner_.state().fixtures()) {
            if (fixture.stage == Stage::Namespace) wanted.insert(fixture.make);
        }
        co_return co_await run_blocking<void>(pool_, [wanted = std::move(wanted), folder = options_.namespace_folder]() -> Result<void> {
            std::error_code ignored;
            for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
                if (!wanted.contains(entry.path())) TRY_VOID(remove_network_namespace(entry.path()));
            }
            return {};
        });
    }

    /// Links that are there are left as they are, with what runs behind them; everything else can be made twice. VXLANs are made
    /// anew, for what others put into their tables.
    Task<Missing> missing_fixtures() {
        Missing missing;
        CO_TRY(const auto links, co_await links_of("", "address"));
        for (const Fixture& fixture : planner_.state().fixtures()) {
            if (fixture.stage == Stage::Link) {
                const auto link = std::ranges::find(links, fixture.key.substr(sizeof "link " - 1), &LinkState::name);
                if (link != links.end()) {
                    const bool adopted = !link->alias.empty() && fixture.make.find("alias " + link->alias + "\n") != std::string::npos;
                    if (adopted) continue;
                    missing.remade.push_back(fixture);
                }
            } else if (!fixture.replaces) {
                missing.remade.push_back(fixture);
            }
            missing.made.push_back(fixture);
        }
        co_return missing;
    }

    ProcessRunner& processes_;
    WorkerPool& pool_;
    Logger log_;
    LinuxOptions options_;
    Planner planner_;
    std::unique_ptr<net::NetlinkSocket> netfilter_;  // made by the first change that needs it; changes come one after the other
};

}  // namespace

std::unique_ptr<DataPlane> make_linux_data_plane(ProcessRunner& processes, WorkerPool& pool, Logger log, LinuxOptions options) {
    return std::make_unique<LinuxDataPlane>(processes, pool, std::move(log), std::move(options));
}

}  // namespace porthole::hns::emulator
