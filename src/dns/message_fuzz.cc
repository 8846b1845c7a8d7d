#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "dns/message.h"

/// Whatever can be read can be answered and read back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole::dns;
    const std::string_view message(reinterpret_cast<const char*>(data), size);
    (void)read_reply(message);
    if (const auto addresses = read_addresses(message)) {
        for (const Record& record : *addresses) CHECK(record.type == Type::A || record.type == Type::AAAA || record.type == Type::CNAME);
    }
    const auto query = read_query(message);
    if (query) {
        CHECK(read_reply(write_reply(*query, {}, 512)).has_value());
        CHECK(read_query(write_query(1, *query))->name == query->name);
    } else if (size >= 12) {
        CHECK(write_format_error(message).size() == 12);
    }
    return 0;
}
