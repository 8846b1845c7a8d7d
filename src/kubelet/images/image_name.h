#pragma once
#include <string>

#include "base/result.h"

namespace porthole::kubelet {

/// A reference such as "registry:5000/team/app:1@sha256:…" taken apart.
struct ImageName {
    std::string repository;  ///< "registry:5000/team/app"
    std::string tag;         ///< "" without one
    std::string digest;      ///< "sha256:…", "" without one

    /// The host that credentials are looked up for; "docker.io" where none is written.
    std::string registry() const;
    /// With ":latest" where neither tag nor digest is given.
    std::string full() const;
    /// As runtimes list it: with its registry, by its digest where it has one.
    std::string canonical() const;
};

/// Error: BadRequest in the words of the distribution project.
Result<ImageName> parse_image_name(const std::string& text);

}  // namespace porthole::kubelet
