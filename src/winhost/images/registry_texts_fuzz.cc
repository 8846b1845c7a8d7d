// What a registry says of how to log in, and what the store has written of its images.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "winhost/images/image_records.h"
#include "winhost/images/registry/challenge.h"

extern "C" int fuzz_registry_challenge_fuzz(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const porthole::winhost::Challenge challenge = porthole::winhost::parse_challenge(text);
    for (const auto& [name, value] : challenge.parameters)
        if (name.size() + value.size() > size) std::abort();
    return 0;
}

extern "C" int fuzz_image_records_fuzz(const std::uint8_t* data, std::size_t size) {
    using porthole::winhost::ImageRecords;
    const auto records = ImageRecords::parse(std::string(reinterpret_cast<const char*>(data), size));
    if (!records) return 0;
    const auto again = ImageRecords::parse(records->to_text());
    if (!again || again->to_text() != records->to_text()) std::abort();
    return 0;
}
