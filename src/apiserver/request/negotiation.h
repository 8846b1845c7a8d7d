#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::apiserver {

enum class Encoding { Json, Yaml, Protobuf };

/// How a body is transformed before it is encoded.
enum class Transform { None, Table, PartialObjectMetadata, PartialObjectMetadataList };

/// The form of an answer, chosen from the Accept header.
struct OutputForm {
    Encoding encoding = Encoding::Json;
    Transform transform = Transform::None;
    std::string transform_version = "v1";  ///< of meta.k8s.io
    bool pretty = false;

    /// The Content-Type header; a watch adds ";stream=watch" to protobuf.
    std::string content_type(bool stream = false) const;
};

/// One clause of an Accept header, or a Content-Type.
struct MediaType {
    std::string type;  ///< "application/json", in lower case
    std::vector<std::pair<std::string, std::string>> parameters;
    double quality = 1;

    std::string_view parameter(std::string_view name) const;
};

MediaType parse_media_type(std::string_view text);
/// The clauses of an Accept header, best first.
std::vector<MediaType> parse_accept(std::string_view header);

/// The form that suits `accept` best. Error: NotAcceptable.
///
/// Differs from Kubernetes: where a client takes JSON at all, it gets JSON even if it would rather have protobuf, because stored
/// objects are JSON and leave the server unchanged.
/// `has_protobuf`: custom resources have none.
Result<OutputForm> negotiate_output(std::string_view accept, bool transforms_allowed, bool stream, bool has_protobuf = true);

/// The encoding of a request's body. A missing Content-Type is JSON (old kubectl sends none). Error: UnsupportedMediaType.
Result<Encoding> encoding_of_content_type(std::string_view content_type, bool has_protobuf = true);

}  // namespace porthole::apiserver
