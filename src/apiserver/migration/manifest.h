#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace porthole::apiserver {

/// The current records of a store, by key, each with a hash of its plain value: independent of the engine, and of how values are encrypted.
class Manifest {
public:
    /// `ends` if the record has a lease.
    void add(const std::string& key, std::string_view plain_value, bool ends);

    std::size_t size() const { return entries_.size(); }
    /// Number of records by resource, "configmaps" or "widgets.example.com"; other records by the first part of their key.
    std::map<std::string, std::size_t> counts() const;
    /// 64 hexadecimal digits, of all keys and values.
    std::string digest() const;
    /// The first difference of `copy`; "" if there is none. A record with a lease may have expired in the copy.
    std::string difference(const Manifest& copy) const;

private:
    struct Entry {
        std::string hash;
        bool ends = false;
    };
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace porthole::apiserver
