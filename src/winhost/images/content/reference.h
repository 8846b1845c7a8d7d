#pragma once
#include <string>

#include "base/result.h"

namespace porthole::winhost {

/// The name of an image: "busybox" is docker.io/library/busybox:latest.
struct Reference {
    std::string registry;    ///< "docker.io", "127.0.0.1:5000"
    std::string repository;  ///< "library/busybox"
    std::string tag;         ///< "latest"; "" only with a digest
    std::string digest;      ///< "sha256:…" or ""

    /// Error: BadRequest.
    static Result<Reference> parse(const std::string& text);
    std::string name() const { return registry + "/" + repository; }
    /// With tag and digest, whichever there is.
    std::string text() const;
    /// "" without a tag.
    std::string tag_text() const { return tag.empty() ? "" : name() + ":" + tag; }
    std::string digest_text(const std::string& of) const { return name() + "@" + of; }
    /// How to request the manifest: by digest, otherwise by tag.
    const std::string& wanted() const { return digest.empty() ? tag : digest; }
};

}  // namespace porthole::winhost
