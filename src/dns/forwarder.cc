#include "dns/forwarder.h"

#include <algorithm>
#include <sstream>

#include "base/result.h"
#include "base/strings.h"

namespace porthole::dns {

namespace {

using namespace std::chrono_literals;
constexpr Duration FailureMemory = 10s;

std::string cache_key(const Query& query) {
    Query lower = query;
    lower.name = query.name.lower();
    return lower.question_wire() + (query.dnssec_ok ? "d" : "") + (query.checking_disabled ? "c" : "");
}

void set_u16(std::string& message, std::size_t at, std::uint16_t value) {
    message[at] = static_cast<char>(value >> 8);
    message[at + 1] = static_cast<char>(value);
}

std::uint16_t u16(const std::string& message, std::size_t at) { return message_id(std::string_view(message).substr(at)); }

}  // namespace

std::vector<IpAddress> read_resolv_conf(std::string_view text) {
    std::vector<IpAddress> servers;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string keyword, value;
        if (!(words >> keyword >> value) || keyword != "nameserver") continue;
        if (const auto address = IpAddress::parse(value.substr(0, value.find('%')))) servers.push_back(*address);
    }
    return servers;
}

Forwarder::Forwarder(EventLoop& loop, Upstream& upstream, Random& random, ForwarderOptions options)
    : loop_(loop), upstream_(upstream), random_(random), options_(options), scope_(loop) {}

void Forwarder::set_servers(std::vector<IpAddress> servers) {
    if (servers == servers_) return;
    servers_ = std::move(servers);
    failed_.clear();
    cache_.clear();
    order_.clear();
    cached_bytes_ = 0;
}

Forwarder::Shared Forwarder::find(const std::string& key) {
    const auto found = cache_.find(key);
    if (found == cache_.end()) return nullptr;
    if (found->second.entry->expires <= loop_.now()) {
        forget(found);
        return nullptr;
    }
    order_.splice(order_.end(), order_, found->second.used);
    return found->second.entry;
}

std::optional<std::string> Forwarder::find_cached(const Query& query, std::size_t limit) {
    const Shared entry = find(cache_key(query));
    if (!entry || !entry->message) return std::nullopt;
    return present(*entry, query, limit);
}

Task<std::string> Forwarder::ask(Query query, std::size_t limit) {
    CO_TRY(const Shared entry, co_await resolve(query));
    if (!entry->message) co_return entry->message.error();
    co_return present(*entry, query, limit);
}

Task<std::vector<Record>> Forwarder::addresses(Query query) {
    CO_TRY(const Shared entry, co_await resolve(std::move(query)));
    if (!entry->message) co_return entry->message.error();
    co_return read_addresses(*entry->message);
}

Task<Forwarder::Shared> Forwarder::resolve(Query query) {
    const std::string key = cache_key(query);
    if (Shared known = find(key)) co_return std::move(known);
    auto& under_way = under_way_[key];
    if (!under_way) {
        if (under_way_.size() > options_.concurrency) {
            under_way_.erase(key);
            co_return Error(Reason::Unavailable, "too many queries in progress");
        }
        under_way = std::make_shared<Promise<Shared>>();
        scope_.spawn(resolve_for_all(key, std::move(query)));
    }
    const std::shared_ptr<Promise<Shared>> promise = under_way;
    co_return co_await promise->wait();
}

Task<> Forwarder::resolve_for_all(std::string key, Query query) {
    auto answered = co_await with_timeout(ask_servers(std::move(query)), options_.total_patience, "name servers");
    Entry entry =
        answered ? *std::move(answered)
                 : Entry{.message = answered.error(), .view = {}, .stored = loop_.now(), .expires = loop_.now() + options_.failure_ttl};
    const Shared shared = std::make_shared<const Entry>(std::move(entry));
    const auto under_way = under_way_.extract(key);
    if (shared->message || !is_cancelled(shared->message)) remember(key, shared);
    under_way.mapped()->set(shared);
    co_return {};
}

Task<Forwarder::Entry> Forwarder::ask_servers(Query query) {
    std::vector<IpAddress> servers, doubtful;
    for (const IpAddress& server : servers_) {
        const auto failed = failed_.find(server);
        const bool lately = failed != failed_.end() && failed->second + FailureMemory > loop_.now();
        (lately ? doubtful : servers).push_back(server);
    }
    servers.insert(servers.end(), doubtful.begin(), doubtful.end());
    std::optional<Entry> unhelpful;
    Error last(Reason::Unavailable, "the node has no name servers");
    for (const IpAddress server : servers) {
        auto answered = co_await with_timeout(ask_server(server, query), options_.patience, "name server");
        if (!answered) {
            if (is_cancelled(answered)) co_return answered.error();
            failed_[server] = loop_.now();
            last = answered.error();
            continue;
        }
        failed_.erase(server);
        if (answered->view.rcode != Rcode::ServFail && answered->view.rcode != Rcode::Refused) co_return *std::move(answered);
        unhelpful = *std::move(answered);
    }
    if (unhelpful) co_return *std::move(unhelpful);
    co_return last;
}

Task<Forwarder::Entry> Forwarder::ask_server(IpAddress server, Query query) {
    const std::string question = query.question_wire();
    for (const bool tcp : {false, true}) {
        const auto id = static_cast<std::uint16_t>(random_.below(65536));
        CO_TRY(std::string message, co_await upstream_.exchange(server, write_query(id, query), tcp));
        CO_TRY(ReplyView view, read_reply(message));
        // Anything else is a stray or forged reply.
        if (view.id != id || !equal_ignoring_case(view.question, question))
            co_return Error(Reason::Unavailable, "a reply to another question");
        if (view.truncated && !tcp) continue;
        const bool cacheable = view.rcode == Rcode::NoError || view.rcode == Rcode::NxDomain;
        const Duration ttl =
            cacheable ? std::min<Duration>(std::chrono::seconds(view.least_ttl), options_.longest_ttl) : Duration(options_.failure_ttl);
        const MonotonicTime now = loop_.now();
        co_return Entry{.message = std::move(message), .view = std::move(view), .stored = now, .expires = now + ttl};
    }
    co_return Error(Reason::Unavailable, "truncated");
}

void Forwarder::remember(const std::string& key, Shared entry) {
    if (entry->expires <= loop_.now()) return;
    const std::size_t reply = entry->message ? entry->message->size() : 0;
    const std::size_t bytes =
        sizeof(Entry) + 2 * (sizeof(Cached) + key.size()) + reply + entry->view.ttl_offsets.size() * sizeof(std::size_t);
    while (!order_.empty() && (cache_.size() >= options_.cache_entries || cached_bytes_ + bytes > options_.cache_bytes))
        forget(cache_.find(order_.front()));
    order_.push_back(key);
    cache_[key] = {std::move(entry), std::prev(order_.end()), bytes};
    cached_bytes_ += bytes;
}

void Forwarder::forget(Cache::iterator cached) {
    cached_bytes_ -= cached->second.bytes;
    order_.erase(cached->second.used);
    cache_.erase(cached);
}

/// The reply as `query` wants it: its identifier, its spelling of the name, what is left of the TTLs.
std::string Forwarder::present(const Entry& entry, const Query& query, std::size_t limit) const {
    std::string message = *entry.message;
    const std::uint16_t kept = static_cast<std::uint16_t>(u16(message, 2) & ~0x0510u);  // authoritative, RD and CD are ours to say
    set_u16(message, 0, query.id);
    set_u16(message, 2,
            static_cast<std::uint16_t>(kept | 0x0080 | (query.recursion_desired ? 0x0100 : 0) | (query.checking_disabled ? 0x0010 : 0)));
    const std::string question = query.question_wire();
    message.replace(message.size() >= 12 + question.size() ? 12 : message.size(), question.size(), question);
    const auto age = static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(loop_.now() - entry.stored).count());
    for (const std::size_t at : entry.view.ttl_offsets) {
        std::uint32_t ttl = std::uint32_t{u16(message, at)} << 16 | u16(message, at + 2);
        ttl -= std::min(ttl, age);
        set_u16(message, at, static_cast<std::uint16_t>(ttl >> 16));
        set_u16(message, at + 2, static_cast<std::uint16_t>(ttl));
    }
    if (!query.edns && entry.view.final_opt) {
        message.resize(*entry.view.final_opt);
        set_u16(message, 10, static_cast<std::uint16_t>(u16(message, 10) - 1));
    }
    return message.size() <= limit ? message : write_truncated(query, entry.view.rcode);
}

}  // namespace porthole::dns
