#pragma once
#include <string>

#include "base/result.h"

namespace porthole::kubelet {

/// The parts of a reference such as "registry:5000/team/app:1@sha256:…".
struct ImageName {
    std::string repository;  ///< "registry:5000/team/app"
    std::string tag;         ///< "" without one
    std::string digest;      ///< "sha256:…", "" without one

    /// The host for which credentials are looked up; "docker.io" if none is given.
    std::string registry() const;
    /// With ":latest" if neither tag nor digest is given.
    std::string full() const;
    /// As runtimes list it: with its registry, by its digest where it has one.
    std::string canonical() const;
};

/// Error: BadRequest with the message of the distribution project.
Result<ImageName> parse_image_name(const std::string& text);

}  // namespace porthole::kubelet
