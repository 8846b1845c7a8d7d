// What an extension API server says of itself. Whatever it is, what is kept of it is discovery's own form, and of one group version.
#include <cstdint>
#include <cstdlib>

#include "api/apidiscovery_v2.h"
#include "apiserver/aggregation/remote_discovery.h"
#include "schema/convert.h"

using namespace porthole;
using namespace porthole::apiserver;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto& resources :
         {read_aggregated_discovery(text, "wardle.example.com", "v1"), read_resource_list(text, "wardle.example.com", "v1")}) {
        if (!resources) continue;
        for (const schema::Value& one : **resources)
            if (!schema::from_value<api::apidiscovery::v2::APIResourceDiscovery>(one)) std::abort();
    }
    const auto hash = read_openapi_index(text, "wardle.example.com", "v1");
    if (hash && hash->find_first_of("\r\n?&\"/") != std::string::npos) std::abort();
    return 0;
}
