// YAML: no input crashes or takes long; what parses is written and read back to the same tree.
#include <cstdint>
#include <cstdlib>

#include "schema/yaml/yaml.h"

using namespace porthole;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto documents = schema::parse_yaml_documents(text, {.depth = 100, .nodes = 10'000});
    if (!documents) return 0;
    for (const schema::Value& document : *documents) {
        const auto again = schema::parse_yaml(schema::to_yaml(document));
        if (!again || !(*again == document)) std::abort();
    }
    return 0;
}
