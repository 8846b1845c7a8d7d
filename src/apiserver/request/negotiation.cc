#include "apiserver/request/negotiation.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view Json = "application/json";
constexpr std::string_view Yaml = "application/yaml";
constexpr std::string_view Protobuf = "application/vnd.kubernetes.protobuf";

std::optional<Encoding> encoding_named(std::string_view type, bool stream) {
    if (type == Json || type == "*/*" || type == "application/*") return Encoding::Json;
    if (type == Protobuf) return Encoding::Protobuf;
    if (!stream && (type == Yaml || type == "application/x-yaml" || type == "text/yaml")) return Encoding::Yaml;
    return std::nullopt;
}

std::optional<OutputForm> form_of(const MediaType& clause, bool transforms_allowed, bool stream) {
    const auto encoding = encoding_named(clause.type, stream);
    if (!encoding) return std::nullopt;
    OutputForm form;
    form.encoding = *encoding;
    form.pretty = clause.parameter("pretty") == "1";
    const std::string_view as = clause.parameter("as");
    if (as.empty()) return form;
    const std::string_view version = clause.parameter("v");
    if (!transforms_allowed || clause.parameter("g") != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) return std::nullopt;
    form.transform_version = version;
    if (as == "Table") {
        if (*encoding == Encoding::Protobuf) return std::nullopt;
        form.transform = Transform::Table;
    } else if (as == "PartialObjectMetadata") {
        form.transform = Transform::PartialObjectMetadata;
    } else if (as == "PartialObjectMetadataList") {
        form.transform = Transform::PartialObjectMetadataList;
    } else {
        return std::nullopt;
    }
    return form;
}

}  // namespace

std::string OutputForm::content_type(bool stream) const {
    switch (encoding) {
        case Encoding::Json:
            return std::string(Json);
        case Encoding::Yaml:
            return std::string(Yaml);
        case Encoding::Protobuf:
            return std::string(Protobuf) + (stream ? ";stream=watch" : "");
    }
    return std::string(Json);
}

std::string_view MediaType::parameter(std::string_view name) const {
    const auto found = std::ranges::find(parameters, name, &std::pair<std::string, std::string>::first);
    return found == parameters.end() ? std::string_view() : std::string_view(found->second);
}

MediaType parse_media_type(std::string_view text) {
    MediaType media;
    bool first = true;
    for (const std::string_view part : split_views(text, ';')) {
        if (std::exchange(first, false)) {
            media.type = to_lower(trim(part));
            continue;
        }
        const std::size_t equals = part.find('=');
        const std::string name = to_lower(trim(part.substr(0, equals)));
        std::string_view value = equals == std::string_view::npos ? std::string_view() : trim(part.substr(equals + 1));
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
        if (name == "q") {
            double quality = 0;
            const bool is_number = std::from_chars(value.data(), value.data() + value.size(), quality).ec == std::errc();
            if (is_number && !std::isnan(quality)) media.quality = std::clamp(quality, 0.0, 1.0);
        } else if (!name.empty()) {
            media.parameters.emplace_back(name, std::string(value));
        }
    }
    return media;
}

std::vector<MediaType> parse_accept(std::string_view header) {
    std::multimap<double, MediaType, std::greater<>> by_quality;  // those of one quality in their order
    for (const std::string_view part : split_views(header, ',')) {
        if (trim(part).empty()) continue;
        MediaType clause = parse_media_type(part);
        by_quality.emplace(clause.quality, std::move(clause));
    }
    std::vector<MediaType> clauses;
    for (auto& [quality, clause] : by_quality) clauses.push_back(std::move(clause));
    return clauses;
}

Result<OutputForm> negotiate_output(std::string_view accept, bool transforms_allowed, bool stream, bool has_protobuf) {
    if (accept == Json || trim(accept).empty()) return OutputForm();
    std::optional<OutputForm> best;
    for (const MediaType& clause : parse_accept(accept)) {
        if (clause.quality <= 0) continue;
        const auto form = form_of(clause, transforms_allowed, stream);
        // What is made of objects, their metadata for example, is a kind of its own.
        if (!form || (form->encoding == Encoding::Protobuf && !has_protobuf && form->transform == Transform::None)) continue;
        const bool better =
            !best || (best->encoding == Encoding::Protobuf && form->encoding == Encoding::Json && form->transform == best->transform);
        if (better) best = form;
    }
    if (best) return *best;
    if (!has_protobuf) {
        return Error(Reason::NotAcceptable, stream ? "only the following media types are accepted: application/json;stream=watch"
                                                   : "only the following media types are accepted: application/json, application/yaml");
    }
    return Error(Reason::NotAcceptable, stream ? "only the following media types are accepted: application/json;stream=watch, "
                                                 "application/vnd.kubernetes.protobuf;stream=watch"
                                               : "only the following media types are accepted: application/json, application/yaml, "
                                                 "application/vnd.kubernetes.protobuf");
}

Result<Encoding> encoding_of_content_type(std::string_view content_type, bool has_protobuf) {
    if (trim(content_type).empty()) return Encoding::Json;
    const MediaType media = parse_media_type(content_type);
    if (media.type == Json) return Encoding::Json;
    if (media.type == Protobuf && has_protobuf) return Encoding::Protobuf;
    if (media.type == Yaml || media.type == "application/x-yaml" || media.type == "text/yaml") return Encoding::Yaml;
    return Error(Reason::UnsupportedMediaType,
                 std::string("the body of the request was in an unknown format - accepted media types include: application/json, ") +
                     (has_protobuf ? "application/yaml, application/vnd.kubernetes.protobuf" : "application/yaml"));
}

}  // namespace porthole::apiserver
