#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/values/ip.h"

namespace porthole::dns {

/// A domain name: labels from left to right, any bytes, preserving their case; compares without case. Stored as in a message, so that
/// reading, comparing and writing need no conversion.
class Name {
public:
    Name() = default;
    /// From labels that the API has validated; a label longer than DNS allows is cut.
    explicit Name(const std::vector<std::string>& labels);
    /// "a.b.c" or "a.b.c."; dots cannot be escaped. Error: BadRequest for empty or too long labels, or more than 255 bytes.
    static Result<Name> parse(std::string_view text);

    /// Views, valid as long as this name.
    std::vector<std::string_view> labels() const;
    std::size_t size() const { return count_; }
    /// Each label after a byte with its length, without the zero that ends a name.
    std::string_view wire() const { return wire_; }
    /// "a.b.c."
    std::string to_string() const;
    Name lower() const;
    bool ends_with(const Name& suffix) const;
    /// Without the last `count` labels.
    Name without_last(std::size_t count) const;
    Name operator+(const Name& suffix) const;
    /// Adds one at the end. Requires: 1 to 63 bytes.
    void append(std::string_view label);

    bool operator==(const Name& other) const;

private:
    std::size_t offset_of(std::size_t label) const;

    std::string wire_;
    std::size_t count_ = 0;
};

enum class Type : std::uint16_t {
    A = 1,
    NS = 2,
    CNAME = 5,
    SOA = 6,
    PTR = 12,
    MX = 15,
    TXT = 16,
    AAAA = 28,
    SRV = 33,
    OPT = 41,
    AXFR = 252,
    ANY = 255,
    IXFR = 251
};
constexpr std::uint16_t ClassIn = 1;

enum class Rcode : std::uint8_t { NoError = 0, FormErr = 1, ServFail = 2, NxDomain = 3, NotImp = 4, Refused = 5, BadVers = 16 };

/// The data of an SRV record.
struct Srv {
    std::uint16_t priority = 0, weight = 0, port = 0;
    Name target;
    bool operator==(const Srv&) const = default;
};
/// The data of an SOA record; times in seconds.
struct Soa {
    Name name_server, mailbox;
    std::uint32_t serial = 0, refresh = 0, retry = 0, expire = 0, minimum = 0;
    bool operator==(const Soa&) const = default;
};
/// The data of a TXT record.
struct Text {
    std::string text;
    bool operator==(const Text&) const = default;
};

/// A record of the kinds that we write ourselves: IpAddress is A or AAAA, Name is CNAME, PTR or NS (see `type`).
struct Record {
    Name name;
    Type type = Type::A;
    std::uint32_t ttl = 0;
    std::variant<IpAddress, Name, Srv, Soa, Text> data;
    bool operator==(const Record&) const = default;
};

/// A client's query.
struct Query {
    std::uint16_t id = 0;
    std::uint8_t opcode = 0;
    bool recursion_desired = false, checking_disabled = false;
    Name name;
    Type type = Type::A;
    std::uint16_t class_ = ClassIn;
    bool edns = false, dnssec_ok = false;
    std::uint8_t edns_version = 0;
    std::uint16_t payload_size = 512;  ///< that the client accepts by UDP; at least 512

    /// The question as in a message, with its case; replies repeat it.
    std::string question_wire() const;
};

/// Reads a query: one question, and OPT among the additional records. Error: BadRequest, for a message that deserves FORMERR;
/// NotFound for one that deserves no answer (too short, or a reply).
Result<Query> read_query(std::string_view message);
/// Of a message that has at least a header.
std::uint16_t message_id(std::string_view message);

/// An answer before it is written.
struct Reply {
    Rcode rcode = Rcode::NoError;
    bool authoritative = false;
    std::vector<Record> answers, authority, additional;
};

/// Writes the reply with compressed names. Beyond `limit` bytes additional records go first; if the answers do not fit either, the
/// reply is empty and marked truncated.
std::string write_reply(const Query& query, const Reply& reply, std::size_t limit);
/// An empty reply that makes the client retry by TCP.
std::string write_truncated(const Query& query, Rcode rcode);
/// For a query that could not be read.
std::string write_format_error(std::string_view message);

/// A query of our own, with EDNS (payload 1232).
std::string write_query(std::uint16_t id, const Query& question);

/// A name server's reply as bytes, and the parts of it that are needed to pass it on.
struct ReplyView {
    std::uint16_t id = 0;
    Rcode rcode = Rcode::NoError;
    bool truncated = false;
    std::size_t question_end = 0;          ///< offset
    std::string question;                  ///< as in the message
    std::vector<std::size_t> ttl_offsets;  ///< of all records but OPT
    std::uint32_t least_ttl = 0;           ///< of the answers; of a negative reply, from the SOA; 0 if there is none
    bool has_answers = false;
    std::optional<std::size_t> final_opt;  ///< where OPT begins, if it is the last record
};
/// Error: BadRequest.
Result<ReplyView> read_reply(std::string_view message);

/// The addresses and aliases among the answers. Error: BadRequest.
Result<std::vector<Record>> read_addresses(std::string_view message);

}  // namespace porthole::dns
