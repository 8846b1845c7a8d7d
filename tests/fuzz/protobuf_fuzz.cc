// Protobuf: no input crashes; what decodes survives another round.
#include <cstdint>
#include <cstdlib>

#include "api/apiextensions_v1.h"
#include "api/core_v1.h"
#include "api/cri_v1.h"
#include "api/csi_v1.h"
#include "api/registry.h"
#include "schema/protobuf/protobuf.h"

using namespace porthole;

namespace {

template <class Message>
void round_trip(std::string_view bytes) {
    const auto message = schema::decode_protobuf<Message>(bytes);
    if (!message) return;
    const std::string written = schema::encode_protobuf(*message);  // compared as bytes: NaN equals nothing
    const auto again = schema::decode_protobuf<Message>(written);
    if (!again || schema::encode_protobuf(*again) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    round_trip<api::core::v1::Pod>(bytes);
    round_trip<api::cri::v1::ContainerStatusResponse>(bytes);
    round_trip<api::csi::v1::NodeGetInfoResponse>(bytes);
    round_trip<api::csi::v1::NodePublishVolumeRequest>(bytes);
    round_trip<api::apiextensions::v1::JSONSchemaProps>(bytes);
    (void)schema::decode_enveloped(api::registry(), bytes);
    return 0;
}
