#include "dns/resolver.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::dns {

namespace {

/// Fits any path without fragments; more goes by TCP.
constexpr std::size_t LargestUdpReply = 1232, LargestTcpReply = 65535;

bool is_transfer(Type type) { return type == Type::AXFR || type == Type::IXFR; }

}  // namespace

std::size_t Resolver::limit(const Query& query, DnsTransport transport) {
    return transport == DnsTransport::Tcp ? LargestTcpReply : std::min<std::size_t>(query.payload_size, LargestUdpReply);
}

std::optional<ZoneAnswer> Resolver::ask_zone(const Query& query) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(clock_.wall_now().time_since_epoch());
    return zone_.answer(query.name, query.type, static_cast<std::uint32_t>(seconds.count()));
}

Resolver::Immediate Resolver::answer_now(std::string_view message, DnsTransport transport) {
    const Result<Query> query = read_query(message);
    if (!query) return {.reply = query.error().reason == Reason::BadRequest ? write_format_error(message) : ""};
    const auto say = [&](Rcode rcode) { return Immediate{.reply = write_reply(*query, {.rcode = rcode}, limit(*query, transport))}; };
    if (query->opcode != 0) return say(Rcode::NotImp);
    if (query->edns_version != 0) return say(Rcode::BadVers);
    if (query->class_ != ClassIn || is_transfer(query->type)) return say(Rcode::Refused);
    if (const auto answer = ask_zone(*query)) {
        if (!zone_complete_()) return say(Rcode::ServFail);
        if (!answer->elsewhere) return {.reply = write_reply(*query, answer->reply, limit(*query, transport))};
    } else if (auto cached = forwarder_.find_cached(*query, limit(*query, transport))) {
        return {.reply = std::move(cached)};
    }
    return {.later = *query};
}

Task<std::string> Resolver::answer_later(Query query, DnsTransport transport) {
    const std::size_t most = limit(query, transport);
    auto answer = ask_zone(query);
    if (!answer) {
        auto forwarded = co_await forwarder_.ask(query, most);
        if (forwarded || is_cancelled(forwarded)) co_return std::move(forwarded);
        co_return write_reply(query, {.rcode = Rcode::ServFail}, most);
    }
    if (answer->elsewhere) {
        Query target = query;
        target.name = *answer->elsewhere;
        auto found = co_await forwarder_.addresses(std::move(target));
        if (is_cancelled(found)) co_return found.error();
        // Without the addresses the alias alone is of no use to a client.
        if (!found) co_return write_reply(query, {.rcode = Rcode::ServFail}, most);
        answer->reply.answers.insert(answer->reply.answers.end(), found->begin(), found->end());
    }
    co_return write_reply(query, answer->reply, most);
}

std::string refuse(std::string_view message) {
    const Result<Query> query = read_query(message);
    return query ? write_reply(*query, {.rcode = Rcode::Refused}, LargestUdpReply) : "";
}

}  // namespace porthole::dns
