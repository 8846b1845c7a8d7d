// What an extension API server says of itself. Whatever it is, what is kept of it is discovery's own form, and of one group version; both
// forms of the OpenAPI document that it is merged into are written, and the JSON one can be read.
#include <cstdint>
#include <cstdlib>

#include "api/apidiscovery_v2.h"
#include "apiserver/aggregation/remote_discovery.h"
#include "schema/convert.h"
#include "schema/json/json.h"
#include "schema/openapi/openapi.h"

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
    if (auto part = schema::read_openapi_part(text, "/apis/wardle.example.com/v1")) {
        const schema::Registry nothing;
        schema::OpenApi openapi(nothing, "v1.36.0");
        const auto shared = std::make_shared<const schema::OpenApiPart>(*std::move(part));
        openapi.set_others({.v3_hashes = {}, .v2_parts = {{"apis/wardle.example.com/v1", shared}, {"apis/x.example.com/v1", shared}}});
        if (!schema::parse_json(*openapi.v2_json().body) || openapi.v2_protobuf().body->empty()) std::abort();
        if (!schema::parse_json(*openapi.v3("apis/x.example.com/v1")->body) || openapi.v3_index().body->empty()) std::abort();
    }
    return 0;
}
