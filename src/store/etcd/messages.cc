#include "store/etcd/messages.h"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <type_traits>

namespace porthole::store::etcd {
namespace {

// The fields of each message, once for both directions: `each(number, member)`.

#define ETCD_FIELDS(Message)                                     \
    template <class Each, class M>                               \
        requires std::is_same_v<std::remove_const_t<M>, Message> \
    void fields(Each& each, M& m)

ETCD_FIELDS(ResponseHeader) { each(1, m.cluster_id), each(2, m.member_id), each(3, m.revision); }
ETCD_FIELDS(KeyValue) {
    each(1, m.key), each(2, m.create_revision), each(3, m.mod_revision), each(4, m.version), each(5, m.value), each(6, m.lease);
}
ETCD_FIELDS(RangeRequest) {
    each(1, m.key), each(2, m.range_end), each(3, m.limit), each(4, m.revision), each(8, m.keys_only), each(9, m.count_only);
}
ETCD_FIELDS(RangeResponse) { each(1, m.header), each(2, m.kvs), each(3, m.more), each(4, m.count); }
ETCD_FIELDS(PutRequest) { each(1, m.key), each(2, m.value), each(3, m.lease); }
ETCD_FIELDS(DeleteRangeRequest) { each(1, m.key), each(2, m.range_end); }
ETCD_FIELDS(DeleteRangeResponse) { each(2, m.deleted); }
ETCD_FIELDS(RequestOp) { each(1, m.request_range), each(2, m.request_put), each(3, m.request_delete_range); }
ETCD_FIELDS(ResponseOp) { each(1, m.response_range), each(3, m.response_delete_range); }
ETCD_FIELDS(Compare) {
    each(1, m.result), each(2, m.target), each(3, m.key), each(4, m.version), each(5, m.create_revision), each(6, m.mod_revision);
}
ETCD_FIELDS(TxnRequest) { each(1, m.compare), each(2, m.success), each(3, m.failure); }
ETCD_FIELDS(TxnResponse) { each(1, m.header), each(2, m.succeeded), each(3, m.responses); }
ETCD_FIELDS(CompactionRequest) { each(1, m.revision); }
ETCD_FIELDS(CompactionResponse) { each(1, m.header); }
ETCD_FIELDS(WatchCreateRequest) {
    each(1, m.key), each(2, m.range_end), each(3, m.start_revision), each(4, m.progress_notify), each(8, m.fragment);
}
ETCD_FIELDS(WatchRequest) { each(1, m.create_request); }
ETCD_FIELDS(WatchEvent) { each(1, m.type), each(2, m.kv); }
ETCD_FIELDS(WatchResponse) {
    each(1, m.header), each(3, m.created), each(4, m.canceled), each(5, m.compact_revision), each(6, m.cancel_reason);
    each(7, m.fragment), each(11, m.events);
}
ETCD_FIELDS(LeaseGrantRequest) { each(1, m.ttl), each(2, m.id); }
ETCD_FIELDS(LeaseGrantResponse) { each(2, m.id), each(3, m.ttl), each(4, m.error); }
ETCD_FIELDS(LeaseRevokeRequest) { each(1, m.id); }
ETCD_FIELDS(LeaseRevokeResponse) { each(1, m.header); }
ETCD_FIELDS(LeaseKeepAliveRequest) { each(1, m.id); }
ETCD_FIELDS(LeaseKeepAliveResponse) { each(2, m.id), each(3, m.ttl); }
ETCD_FIELDS(LeaseTimeToLiveRequest) { each(1, m.id); }
ETCD_FIELDS(LeaseTimeToLiveResponse) { each(2, m.id), each(3, m.ttl), each(4, m.granted_ttl); }
ETCD_FIELDS(StatusRequest) {}
ETCD_FIELDS(StatusResponse) { each(1, m.header), each(2, m.version), each(3, m.db_size), each(4, m.leader), each(8, m.errors); }
ETCD_FIELDS(ClusterMember) { each(1, m.id), each(2, m.name), each(3, m.peer_urls), each(5, m.is_learner); }
ETCD_FIELDS(MemberListRequest) { each(1, m.linearizable); }
ETCD_FIELDS(MemberListResponse) { each(2, m.members); }
ETCD_FIELDS(MemberAddRequest) { each(1, m.peer_urls), each(2, m.is_learner); }
ETCD_FIELDS(MemberAddResponse) { each(3, m.members); }
ETCD_FIELDS(MemberPromoteRequest) { each(1, m.id); }
ETCD_FIELDS(MemberPromoteResponse) { each(2, m.members); }
ETCD_FIELDS(MemberRemoveRequest) { each(1, m.id); }
ETCD_FIELDS(MemberRemoveResponse) { each(2, m.members); }
#undef ETCD_FIELDS

/// Writes what is not the default, as proto3 does; of a choice, what is there.
class FieldWriter {
public:
    explicit FieldWriter(std::string& bytes) : writer_(bytes) {}

    template <class T>
    void operator()(protozero::pbf_tag_type number, const T& value) {
        if constexpr (std::is_enum_v<T>) {
            if (static_cast<int>(value) != 0) writer_.add_enum(number, static_cast<int>(value));
        } else if constexpr (std::is_arithmetic_v<T>) {
            if (value != T()) add(number, value);
        } else if constexpr (std::is_same_v<T, std::string>) {
            if (!value.empty()) add(number, value);
        } else {
            add(number, value);
        }
    }

private:
    void add(protozero::pbf_tag_type number, bool value) { writer_.add_bool(number, value); }
    void add(protozero::pbf_tag_type number, std::int64_t value) { writer_.add_int64(number, value); }
    void add(protozero::pbf_tag_type number, std::uint64_t value) { writer_.add_uint64(number, value); }
    void add(protozero::pbf_tag_type number, const std::string& value) { writer_.add_bytes(number, value); }
    template <class T>
    void add(protozero::pbf_tag_type number, const std::optional<T>& value) {
        if (value) add(number, *value);
    }
    template <class T>
    void add(protozero::pbf_tag_type number, const std::vector<T>& values) {
        for (const T& value : values) add(number, value);
    }
    template <class T>
        requires std::is_class_v<T>
    void add(protozero::pbf_tag_type number, const T& message) {
        writer_.add_message(number, encode(message));
    }

    protozero::pbf_writer writer_;
};

template <class Message>
Message read_message(protozero::pbf_reader reader);

/// Reads the reader's present field into the member that has its number.
class FieldReader {
public:
    explicit FieldReader(protozero::pbf_reader& reader) : reader_(reader) {}
    bool taken() const { return taken_; }

    template <class T>
    void operator()(protozero::pbf_tag_type number, T& value) {
        if (taken_ || reader_.tag() != number) return;
        taken_ = true;
        read(value);
    }

private:
    void expect(protozero::pbf_wire_type type) const {
        if (reader_.wire_type() != type) throw protozero::unknown_pbf_wire_type_exception();
    }
    template <class T>
    void read(T& value) {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
            expect(protozero::pbf_wire_type::varint);
            value = static_cast<T>(reader_.get_int64());
        } else if constexpr (std::is_same_v<T, std::string>) {
            expect(protozero::pbf_wire_type::length_delimited);
            const auto view = reader_.get_view();
            value.assign(view.data(), view.size());
        } else {
            expect(protozero::pbf_wire_type::length_delimited);
            value = read_message<T>(reader_.get_message());
        }
    }
    template <class T>
    void read(std::optional<T>& value) {
        read(value.emplace());
    }
    template <class T>
    void read(std::vector<T>& values) {
        read(values.emplace_back());
    }

    protozero::pbf_reader& reader_;
    bool taken_ = false;
};

template <class Message>
Message read_message(protozero::pbf_reader reader) {
    Message message;
    while (reader.next()) {
        FieldReader each(reader);
        fields(each, message);
        if (!each.taken()) reader.skip();
    }
    return message;
}

}  // namespace

template <class Message>
std::string encode(const Message& message) {
    std::string bytes;
    FieldWriter each(bytes);
    fields(each, message);
    return bytes;
}

template <class Message>
Result<Message> decode(std::string_view bytes) {
    try {
        return read_message<Message>(protozero::pbf_reader(bytes.data(), bytes.size()));
    } catch (const protozero::exception& error) {
        return Error(Reason::InternalError, std::string("an answer of etcd cannot be read: ") + error.what());
    }
}

#define ETCD_MESSAGE(Message)                             \
    template std::string encode<Message>(const Message&); \
    template Result<Message> decode<Message>(std::string_view);
ETCD_MESSAGE(RangeRequest)
ETCD_MESSAGE(RangeResponse)
ETCD_MESSAGE(TxnRequest)
ETCD_MESSAGE(TxnResponse)
ETCD_MESSAGE(CompactionRequest)
ETCD_MESSAGE(CompactionResponse)
ETCD_MESSAGE(WatchRequest)
ETCD_MESSAGE(WatchResponse)
ETCD_MESSAGE(LeaseGrantRequest)
ETCD_MESSAGE(LeaseGrantResponse)
ETCD_MESSAGE(LeaseRevokeRequest)
ETCD_MESSAGE(LeaseRevokeResponse)
ETCD_MESSAGE(LeaseKeepAliveRequest)
ETCD_MESSAGE(LeaseKeepAliveResponse)
ETCD_MESSAGE(LeaseTimeToLiveRequest)
ETCD_MESSAGE(LeaseTimeToLiveResponse)
ETCD_MESSAGE(StatusRequest)
ETCD_MESSAGE(StatusResponse)
ETCD_MESSAGE(MemberListRequest)
ETCD_MESSAGE(MemberListResponse)
ETCD_MESSAGE(MemberAddRequest)
ETCD_MESSAGE(MemberAddResponse)
ETCD_MESSAGE(MemberPromoteRequest)
ETCD_MESSAGE(MemberPromoteResponse)
ETCD_MESSAGE(MemberRemoveRequest)
ETCD_MESSAGE(MemberRemoveResponse)
#undef ETCD_MESSAGE

}  // namespace porthole::store::etcd
