#include "proxy/nftables/nftables_proxy.h"

#include <netinet/in.h>

#include "base/result.h"
#include "proxy/nftables/elements.h"
#include "proxy/nftables/layout.h"
#include "proxy/nftables/listing.h"

namespace porthole::proxy::nftables {
namespace {

using namespace std::chrono_literals;

/// Protocols without connections of their own: the kernel goes on sending to a backend that has gone until told otherwise.
std::optional<std::uint8_t> tracked_protocol(Protocol protocol) {
    switch (protocol) {
        case Protocol::Tcp:
            return std::nullopt;
        case Protocol::Udp:
            return IPPROTO_UDP;
        case Protocol::Sctp:
            return IPPROTO_SCTP;
    }
    return std::nullopt;
}

}  // namespace

NftablesProxy::NftablesProxy(NftablesContext context, NftablesOptions options)
    : context_(std::move(context)),
      options_(std::move(options)),
      table_(NodeView{.name = options_.node_name}),
      feed_(context_.informers, options_.node_name, [this] { changed(); }),
      rules_(options_.rules) {
    feed_.fill(table_, Family::V4);
}

void NftablesProxy::changed() {
    if (!pending_since_) pending_since_ = context_.loop.now();
    wake_.set();
}

Task<> NftablesProxy::run() {
    CO_TRY_VOID(co_await feed_.wait_for_sync());
    Duration pause = 100ms;
    for (;;) {
        wake_.reset();
        const auto done = co_await sync();
        if (!done) {
            if (is_cancelled(done)) co_return done.error();
            ++counts_.failures;
            synced_ = false;
            context_.log.warn("service rules not programmed", {{"error", done.error().message}});
            CO_TRY_VOID(co_await context_.loop.sleep(pause));
            pause = std::min<Duration>(pause * 2, 30s);
            continue;
        }
        pause = 100ms;
        if (!timeouts_set_) set_timeouts();
        const auto woken = co_await with_timeout(wake_.wait(), options_.check_interval, "waiting for a change");
        if (woken) continue;
        if (woken.error().reason != Reason::Timeout) co_return woken.error();
        if (const auto checked = co_await check(); is_cancelled(checked)) co_return checked.error();
    }
}

/// As upstream's kube-proxy does: the kernel's minute for CLOSE_WAIT is too short for clients that take their time. Once there are rules,
/// the kernel tracks connections.
void NftablesProxy::set_timeouts() {
    timeouts_set_ = true;
    for (const auto& [state, timeout] : {std::pair("established", std::chrono::hours(24)), std::pair("close_wait", std::chrono::hours(1))})
        if (const auto set = context_.conntrack.set_tcp_timeout(state, timeout); !set)
            context_.log.warn("timeout of tracked connections not set", {{"state", state}, {"error", set.error().message}});
}

Task<> NftablesProxy::sync() {
    const std::set<FrontendKey> changed = table_.update();
    tell_of_cut_services(table_, cut_, context_.log);
    if (context_.health) context_.health->set_health(table_.health());
    const auto pending = std::exchange(pending_since_, std::nullopt);
    const bool whole = !synced_;
    std::string text = whole ? rules_.full(table_, from_scratch_) : "";
    Changes changes = whole ? Changes() : rules_.change(table_, changed);
    std::vector<RuleSet::Loss> losses = rules_.take_losses();
    if (whole || !changes.empty()) {
        // Whatever happens from here on, the kernel no longer surely has what rules_ believes.
        synced_ = false;
        Task<> applying = whole ? apply(std::move(text)) : apply(std::move(changes));
        const auto applied = co_await std::move(applying);
        if (!applied) {
            pending_since_ = pending ? pending : context_.loop.now();
            if (whole) from_scratch_ = true;
            co_return applied.error();
        }
        ++(whole ? counts_.full_syncs : counts_.partial_syncs);
        synced_ = true;
        from_scratch_ = false;
    }
    last_synced_ = context_.loop.now();
    const auto forgotten = co_await forget_lost_connections(std::move(losses));
    if (!forgotten) {
        if (is_cancelled(forgotten)) co_return forgotten.error();
        context_.log.warn("connections of removed endpoints not deleted", {{"error", forgotten.error().message}});
    }
    co_return {};
}

/// Without the program nft where there is no chain to be made: an endpoint that comes or goes is the most frequent change by far.
Task<> NftablesProxy::apply(Changes changes) {
    constexpr std::size_t MostElements = 1000;  // what one transaction without nft may hold
    if (!changes.chains.empty() || changes.removed.size() + changes.added.size() > MostElements) return apply(changes.text());
    return noting_generation(context_.nft.change(std::string(TableName), kernel_changes(changes.removed, changes.added)));
}

Task<> NftablesProxy::apply(std::string text) { return noting_generation(context_.nft.run(std::move(text))); }

Task<> NftablesProxy::noting_generation(Task<> work) {
    const bool others_changed = generation_ && context_.nft.generation() != generation_;
    CO_TRY_VOID(co_await std::move(work));
    // If someone else changed rules before us, the old number stays, so that the next check looks.
    if (!others_changed) generation_ = context_.nft.generation();
    co_return {};
}

Task<> NftablesProxy::forget_lost_connections(std::vector<RuleSet::Loss> losses) {
    std::vector<net::ConntrackFilter> filters;
    bool sticky = false;
    for (const RuleSet::Loss& loss : losses) {
        sticky = sticky || (loss.sticky && !loss.lost.empty());
        const auto protocol = tracked_protocol(loss.frontend.protocol);
        if (!protocol) continue;
        net::ConntrackFilter filter{.protocol = *protocol, .destination = loss.frontend.address, .port = loss.frontend.port};
        if (loss.first_backends) filters.push_back(filter);
        for (const Backend& backend : loss.lost) {
            filter.backend = backend.address;
            filter.backend_port = backend.port;
            filters.push_back(filter);
        }
    }
    if (sticky) CO_TRY_VOID(co_await forget_lost_clients(losses));
    if (!filters.empty()) CO_TRY_VOID(co_await context_.conntrack.forget(std::move(filters)));
    co_return {};
}

/// Session affinity must not lead a client to an endpoint that has gone.
Task<> NftablesProxy::forget_lost_clients(const std::vector<RuleSet::Loss>& losses) {
    CO_TRY(const net::NftTable table, co_await context_.nft.read(std::string(TableName), {Affinity}));
    const Listing listing = read_listing(table);
    std::set<std::string> lost;
    for (const RuleSet::Loss& loss : losses) {
        for (const Backend& backend : loss.lost) lost.insert(affinity_endpoint(loss.frontend, backend));
    }
    std::string commands;
    const auto map = listing.elements.find(Affinity);
    if (map == listing.elements.end()) co_return {};
    for (const std::string& element : map->second) {
        const auto entry = read_affinity(element);
        if (!entry || !lost.contains(entry->endpoint)) continue;
        commands += delete_element({Affinity, entry->key, ""});
    }
    if (!commands.empty()) CO_TRY_VOID(co_await apply(std::move(commands)));
    co_return {};
}

bool NftablesProxy::is_as_written(const Listing& listing) const {
    for (const auto& [chain, count] : rules_.expected_rules()) {
        const auto found = listing.rules.find(chain);
        if (found == listing.rules.end() || found->second != count) return false;
    }
    return listing.elements == rules_.expected_elements();
}

Task<> NftablesProxy::check() {
    if (generation_ && context_.nft.generation() == generation_) co_return {};
    const auto before = context_.nft.generation();
    const auto table = co_await context_.nft.read(std::string(TableName), sets_of_services());
    if (is_cancelled(table)) co_return table.error();
    const bool intact = table && is_as_written(read_listing(*table));
    generation_ = before;
    if (intact) co_return {};
    context_.log.warn("service rules were changed by someone else, writing them again");
    ++counts_.repairs;
    synced_ = false;
    from_scratch_ = !table;
    co_return {};
}

Task<> remove_rules(net::NftExecutor& nft) { return nft.run(remove_table()); }

}  // namespace porthole::proxy::nftables
