#include "dns/message.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "base/strings.h"

namespace porthole::dns {

namespace {

constexpr std::size_t HeaderSize = 12, UsualSize = 512, LongestName = 255, LongestLabel = 63;
constexpr std::size_t PointerReach = 0x3fff;    // of a compressed name
constexpr std::uint16_t OwnPayloadSize = 1232;  // fits any path's MTU

Error malformed() { return Error(Reason::BadRequest, "malformed DNS message"); }

/// Reads a message, never beyond its end.
class Reader {
public:
    explicit Reader(std::string_view message, std::size_t position = 0) : message_(message), position_(position) {}

    std::size_t position() const { return position_; }
    bool at_end() const { return position_ == message_.size(); }
    Result<std::uint8_t> u8() {
        if (position_ >= message_.size()) return malformed();
        return static_cast<std::uint8_t>(message_[position_++]);
    }
    Result<std::uint16_t> u16() {
        TRY(const std::uint8_t high, u8());
        TRY(const std::uint8_t low, u8());
        return static_cast<std::uint16_t>(high << 8 | low);
    }
    Result<std::uint32_t> u32() {
        TRY(const std::uint16_t high, u16());
        TRY(const std::uint16_t low, u16());
        return std::uint32_t{high} << 16 | low;
    }
    Result<void> skip(std::size_t count) {
        if (count > message_.size() - position_) return malformed();
        position_ += count;
        return {};
    }
    /// Pointers lead backwards only, which bounds them.
    Result<Name> name() {
        Name name;
        std::size_t at = position_, total = 1, lowest = position_;
        bool jumped = false;
        for (;;) {
            if (at >= message_.size()) return malformed();
            const auto length = static_cast<std::uint8_t>(message_[at]);
            if (length >= 0xc0) {
                if (at + 1 >= message_.size()) return malformed();
                const std::size_t target = static_cast<std::size_t>(length & 0x3f) << 8 | static_cast<std::uint8_t>(message_[at + 1]);
                if (!jumped) position_ = at + 2;
                jumped = true;
                if (target >= lowest) return malformed();
                lowest = at = target;
                continue;
            }
            if (length > LongestLabel) return malformed();
            if (length == 0) {
                if (!jumped) position_ = at + 1;
                return name;
            }
            total += length + 1u;
            if (total > LongestName || at + 1 + length > message_.size()) return malformed();
            name.append(message_.substr(at + 1, length));
            at += length + 1u;
        }
    }

private:
    std::string_view message_;
    std::size_t position_;
};

/// Writes a message, pointing back to names that it has written before.
class Writer {
public:
    Writer() { message_.reserve(UsualSize); }
    std::string take() { return std::move(message_); }
    std::size_t size() const { return message_.size(); }
    void cut(std::size_t size) { message_.resize(size); }
    void u8(std::uint8_t value) { message_.push_back(static_cast<char>(value)); }
    void u16(std::uint16_t value) {
        u8(static_cast<std::uint8_t>(value >> 8));
        u8(static_cast<std::uint8_t>(value));
    }
    void u32(std::uint32_t value) {
        u16(static_cast<std::uint16_t>(value >> 16));
        u16(static_cast<std::uint16_t>(value));
    }
    void set_u16(std::size_t offset, std::uint16_t value) {
        message_[offset] = static_cast<char>(value >> 8);
        message_[offset + 1] = static_cast<char>(value);
    }
    void bytes(std::string_view bytes) { message_.append(bytes); }
    void name(const Name& name, bool compress = true) {
        const std::string_view wire = name.wire();
        // Most records are about the name that was asked for.
        if (compress && !wire.empty() && wire == last_) return u16(static_cast<std::uint16_t>(0xc000 | last_at_));
        if (message_.size() <= PointerReach) {
            last_ = wire;
            last_at_ = message_.size();
        }
        const std::vector<Suffix> suffixes = suffixes_of(wire);
        for (const Suffix& suffix : suffixes) {
            const std::string_view rest = wire.substr(suffix.offset);
            if (compress) {
                if (const auto known = find(suffix.hash, rest)) return u16(static_cast<std::uint16_t>(0xc000 | *known));
            }
            if (message_.size() <= PointerReach) known_.push_back({message_.size(), suffix.hash});
            bytes(rest.substr(0, static_cast<std::size_t>(rest[0]) + 1));
        }
        u8(0);
    }
    void record(const Record& record) {
        name(record.name);
        u16(static_cast<std::uint16_t>(record.type));
        u16(ClassIn);
        u32(record.ttl);
        const std::size_t length_at = size();
        u16(0);
        std::visit([this](const auto& data) { write(data); }, record.data);
        set_u16(length_at, static_cast<std::uint16_t>(size() - length_at - 2));
    }

private:
    void write(const IpAddress& address) {
        bytes({reinterpret_cast<const char*>(address.bytes().data()), static_cast<std::size_t>(address.bits() / 8)});
    }
    void write(const Name& target) { name(target); }
    void write(const Srv& srv) {
        u16(srv.priority);
        u16(srv.weight);
        u16(srv.port);
        name(srv.target, false);  // RFC 2782: never compressed
    }
    void write(const Soa& soa) {
        name(soa.name_server);
        name(soa.mailbox);
        for (const std::uint32_t value : {soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum}) u32(value);
    }
    void write(const Text& text) {
        for (std::size_t at = 0; at == 0 || at < text.text.size(); at += 255) {
            const std::string part = text.text.substr(at, 255);
            u8(static_cast<std::uint8_t>(part.size()));
            bytes(part);
        }
    }

    /// The end of a name from some label on: in the name, or where it was written.
    struct Suffix {
        std::size_t offset;
        std::uint32_t hash;  // without case
    };
    static std::vector<Suffix> suffixes_of(std::string_view wire) {
        std::vector<Suffix> suffixes;
        for (std::size_t at = 0; at < wire.size(); at += static_cast<std::size_t>(wire[at]) + 1) suffixes.push_back({at, 0});
        std::uint32_t hash = 2166136261;  // FNV-1a, from the last label to the first
        std::size_t end = wire.size();
        for (Suffix& suffix : std::views::reverse(suffixes)) {
            for (std::size_t at = suffix.offset; at < end; ++at) hash = (hash ^ static_cast<std::uint8_t>(to_lower(wire[at]))) * 16777619;
            suffix.hash = hash;
            end = suffix.offset;
        }
        return suffixes;
    }
    std::optional<std::size_t> find(std::uint32_t hash, std::string_view rest) const {
        for (const Suffix& known : known_)
            if (known.hash == hash && is_at(known.offset, rest)) return known.offset;
        return std::nullopt;
    }
    /// Whether the name that was written at `at` is `rest`.
    bool is_at(std::size_t at, std::string_view rest) const {
        while (!rest.empty()) {
            while (at + 1 < message_.size() && static_cast<std::uint8_t>(message_[at]) >= 0xc0)
                at = static_cast<std::size_t>(message_[at] & 0x3f) << 8 | static_cast<std::uint8_t>(message_[at + 1]);
            const std::size_t count = static_cast<std::size_t>(rest[0]) + 1;
            if (at + count >= message_.size()) return false;  // the name that is being written
            if (!equal_ignoring_case(std::string_view(message_).substr(at, count), rest.substr(0, count))) return false;
            at += count;
            rest.remove_prefix(count);
        }
        return message_[at] == 0;
    }

    std::string message_;
    std::vector<Suffix> known_;
    std::string last_;  // the name that was written last, as far as a pointer reaches
    std::size_t last_at_ = 0;
};

void write_opt(Writer& writer, std::uint8_t extended_rcode, bool dnssec_ok) {
    writer.u8(0);
    writer.u16(static_cast<std::uint16_t>(Type::OPT));
    writer.u16(OwnPayloadSize);
    writer.u8(extended_rcode);
    writer.u8(0);
    writer.u16(dnssec_ok ? 0x8000 : 0);
    writer.u16(0);
}
constexpr std::size_t OptSize = 11;

}  // namespace

// ---- names

Name::Name(const std::vector<std::string>& labels) {
    for (const std::string& label : labels) append(std::string_view(label).substr(0, LongestLabel));
}

void Name::append(std::string_view label) {
    wire_.push_back(static_cast<char>(label.size()));
    wire_.append(label);
    ++count_;
}

Result<Name> Name::parse(std::string_view text) {
    Name name;
    if (text.ends_with('.')) text.remove_suffix(1);
    std::size_t total = 1;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('.'), text.size());
        total += end + 1;
        if (end == 0 || end > LongestLabel || total > LongestName)
            return Error(Reason::BadRequest, "not a domain name: \"" + std::string(text) + "\"");
        name.append(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return name;
}

std::vector<std::string_view> Name::labels() const {
    std::vector<std::string_view> labels;
    labels.reserve(count_);
    for (std::string_view rest = wire_; !rest.empty();) {
        labels.push_back(rest.substr(1, static_cast<std::size_t>(rest[0])));
        rest.remove_prefix(labels.back().size() + 1);
    }
    return labels;
}

std::string Name::to_string() const {
    std::string text;
    for (const std::string_view label : labels()) text.append(label).append(".");
    return text.empty() ? "." : text;
}

Name Name::lower() const {
    Name result = *this;
    for (char& byte : result.wire_) byte = to_lower(byte);
    return result;
}

/// Of a label's length in `wire_`; the end for `count_`.
std::size_t Name::offset_of(std::size_t label) const {
    std::size_t at = 0;
    for (; label > 0; --label) at += static_cast<std::size_t>(wire_[at]) + 1;
    return at;
}

bool Name::ends_with(const Name& suffix) const {
    return suffix.count_ <= count_ && equal_ignoring_case(wire().substr(offset_of(count_ - suffix.count_)), suffix.wire_);
}

Name Name::without_last(std::size_t count) const {
    Name result;
    result.count_ = count_ - count;
    result.wire_ = wire_.substr(0, offset_of(result.count_));
    return result;
}

Name Name::operator+(const Name& suffix) const {
    Name result;
    result.wire_.reserve(wire_.size() + suffix.wire_.size());
    result.wire_.append(wire_).append(suffix.wire_);
    result.count_ = count_ + suffix.count_;
    return result;
}

bool Name::operator==(const Name& other) const { return equal_ignoring_case(wire_, other.wire_); }

// ---- queries

std::uint16_t message_id(std::string_view message) {
    return static_cast<std::uint16_t>(static_cast<std::uint8_t>(message[0]) << 8 | static_cast<std::uint8_t>(message[1]));
}

std::string Query::question_wire() const {
    Writer writer;
    writer.name(name);
    writer.u16(static_cast<std::uint16_t>(type));
    writer.u16(class_);
    return writer.take();
}

Result<Query> read_query(std::string_view message) {
    if (message.size() < HeaderSize) return Error(Reason::NotFound, "not a DNS message");
    Reader reader(message);
    Query query;
    TRY(query.id, reader.u16());
    TRY(const std::uint16_t flags, reader.u16());
    if (flags & 0x8000) return Error(Reason::NotFound, "not a DNS query");
    query.opcode = flags >> 11 & 0xf;
    query.recursion_desired = flags & 0x0100;
    query.checking_disabled = flags & 0x0010;
    TRY(const std::uint16_t questions, reader.u16());
    TRY(const std::uint16_t answers, reader.u16());
    TRY(const std::uint16_t authority, reader.u16());
    TRY(const std::uint16_t additional, reader.u16());
    if (questions != 1) return malformed();
    TRY(query.name, reader.name());
    TRY(const std::uint16_t type, reader.u16());
    query.type = Type{type};
    TRY(query.class_, reader.u16());
    for (std::uint32_t left = std::uint32_t{answers} + authority + additional; left > 0; --left) {
        TRY_VOID(reader.name());
        TRY(const std::uint16_t record_type, reader.u16());
        TRY(const std::uint16_t record_class, reader.u16());
        TRY(const std::uint32_t ttl, reader.u32());
        TRY(const std::uint16_t length, reader.u16());
        TRY_VOID(reader.skip(length));
        if (Type{record_type} != Type::OPT) continue;
        query.edns = true;
        query.payload_size = std::max<std::uint16_t>(512, record_class);
        query.edns_version = ttl >> 16 & 0xff;
        query.dnssec_ok = ttl & 0x8000;
    }
    return query;
}

namespace {

/// Nothing if answers and authority do not fit; of the additional records as many as do.
std::optional<std::string> try_write(const Query& query, const Reply& reply, std::size_t limit, bool truncated) {
    const auto rcode = static_cast<unsigned>(reply.rcode);
    const std::size_t room = limit - (query.edns ? OptSize : 0);
    Writer writer;
    writer.u16(query.id);
    writer.u16(static_cast<std::uint16_t>(0x8000 | query.opcode << 11 | (reply.authoritative ? 0x0400 : 0) | (truncated ? 0x0200 : 0) |
                                          (query.recursion_desired ? 0x0100 : 0) | 0x0080 | (query.checking_disabled ? 0x0010 : 0) |
                                          (rcode & 0xf)));
    for (const std::size_t count : {std::size_t{1}, reply.answers.size(), reply.authority.size(), std::size_t{query.edns}})
        writer.u16(static_cast<std::uint16_t>(count));
    writer.name(query.name, false);
    writer.u16(static_cast<std::uint16_t>(query.type));
    writer.u16(query.class_);
    for (const auto* records : {&reply.answers, &reply.authority}) {
        for (const Record& record : *records) {
            writer.record(record);
            if (writer.size() > room) return std::nullopt;
        }
    }
    std::uint16_t additional = query.edns ? 1 : 0;
    for (const Record& record : reply.additional) {
        const std::size_t before = writer.size();
        writer.record(record);
        if (writer.size() > room) {
            writer.cut(before);
            break;
        }
        ++additional;
    }
    writer.set_u16(10, additional);
    if (query.edns) write_opt(writer, static_cast<std::uint8_t>(rcode >> 4), query.dnssec_ok);
    return writer.take();
}

}  // namespace

std::string write_reply(const Query& query, const Reply& reply, std::size_t limit) {
    if (auto whole = try_write(query, reply, limit, false)) return *std::move(whole);
    return *try_write(query, {.rcode = reply.rcode, .authoritative = reply.authoritative}, limit, true);
}

std::string write_truncated(const Query& query, Rcode rcode) { return *try_write(query, {.rcode = rcode}, 512, true); }

std::string write_format_error(std::string_view message) {
    Writer writer;
    writer.u16(message_id(message));
    const auto opcode = static_cast<std::uint8_t>(message[2]) >> 3 & 0xf;
    writer.u16(static_cast<std::uint16_t>(0x8000 | opcode << 11 | static_cast<unsigned>(Rcode::FormErr)));
    for (int i = 0; i < 4; ++i) writer.u16(0);
    return writer.take();
}

std::string write_query(std::uint16_t id, const Query& question) {
    Writer writer;
    writer.u16(id);
    writer.u16(static_cast<std::uint16_t>(0x0100 | (question.checking_disabled ? 0x0010 : 0)));
    for (const std::uint16_t count : {1, 0, 0, 1}) writer.u16(count);
    writer.bytes(question.question_wire());
    write_opt(writer, 0, question.dnssec_ok);
    return writer.take();
}

// ---- replies of others

Result<ReplyView> read_reply(std::string_view message) {
    Reader reader(message);
    ReplyView view;
    TRY(view.id, reader.u16());
    TRY(const std::uint16_t flags, reader.u16());
    if (!(flags & 0x8000)) return malformed();
    view.rcode = Rcode{static_cast<std::uint8_t>(flags & 0xf)};
    view.truncated = flags & 0x0200;
    TRY(const std::uint16_t questions, reader.u16());
    TRY(const std::uint16_t answers, reader.u16());
    TRY(const std::uint16_t authority, reader.u16());
    TRY(const std::uint16_t additional, reader.u16());
    if (questions != 1) return malformed();
    TRY_VOID(reader.name());
    TRY_VOID(reader.skip(4));
    view.question_end = reader.position();
    view.question = std::string(message.substr(HeaderSize, view.question_end - HeaderSize));
    view.has_answers = answers > 0;

    std::uint32_t least_answer = std::numeric_limits<std::uint32_t>::max(), negative = 0;
    const std::uint32_t total = std::uint32_t{answers} + authority + additional;
    for (std::uint32_t i = 0; i < total; ++i) {
        const std::size_t begin = reader.position();
        TRY_VOID(reader.name());
        TRY(const std::uint16_t type, reader.u16());
        TRY_VOID(reader.u16());
        const std::size_t ttl_at = reader.position();
        TRY(const std::uint32_t ttl, reader.u32());
        TRY(const std::uint16_t length, reader.u16());
        const std::size_t data_at = reader.position();
        TRY_VOID(reader.skip(length));
        if (Type{type} == Type::OPT) {
            if (i + 1 == total) view.final_opt = begin;
            continue;
        }
        view.ttl_offsets.push_back(ttl_at);
        if (i < answers) least_answer = std::min(least_answer, ttl);
        if (i >= answers && i < std::uint32_t{answers} + authority && Type{type} == Type::SOA && length >= 20) {
            Reader soa(message, data_at + length - 4);
            TRY(const std::uint32_t minimum, soa.u32());
            negative = std::min(ttl, minimum);
        }
    }
    view.least_ttl = view.has_answers ? least_answer : negative;
    return view;
}

Result<std::vector<Record>> read_addresses(std::string_view message) {
    Reader reader(message);
    TRY_VOID(reader.skip(6));
    TRY(const std::uint16_t answers, reader.u16());
    TRY_VOID(reader.skip(4));
    TRY_VOID(reader.name());
    TRY_VOID(reader.skip(4));
    std::vector<Record> records;
    for (std::uint16_t i = 0; i < answers; ++i) {
        Record record;
        TRY(record.name, reader.name());
        TRY(const std::uint16_t type, reader.u16());
        TRY_VOID(reader.u16());
        TRY(record.ttl, reader.u32());
        TRY(const std::uint16_t length, reader.u16());
        const std::size_t data_at = reader.position();
        TRY_VOID(reader.skip(length));
        record.type = Type{type};
        const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(message[data_at + at]); };
        if (record.type == Type::A && length == 4) {
            record.data =
                IpAddress::v4(std::uint32_t{byte(0)} << 24 | std::uint32_t{byte(1)} << 16 | std::uint32_t{byte(2)} << 8 | byte(3));
        } else if (record.type == Type::AAAA && length == 16) {
            std::array<std::uint8_t, 16> bytes;
            for (std::size_t at = 0; at < 16; ++at) bytes[at] = byte(at);
            record.data = IpAddress::v6(bytes);
        } else if (record.type == Type::CNAME) {
            Reader target(message, data_at);
            TRY(record.data, target.name());
        } else {
            continue;
        }
        records.push_back(std::move(record));
    }
    return records;
}

}  // namespace porthole::dns
