#include "runtime/weights/publisher_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace swage {

namespace {

uint64_t splitmix(uint64_t& state) {
  auto z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

} // namespace

publisher_core::publisher_core(publisher_limits limits, uint64_t seed)
  : limits_(limits), state_(seed) {
  limits_.chunk_bytes = std::max<uint64_t>(1, limits_.chunk_bytes);
}

result<void> publisher_core::publish(snapshot weights, double now) {
  auto number = weights.what.version;
  // Published again because the answer was late.
  if (auto same = versions_.find(number);
      same != versions_.end() && std::next(same) == versions_.end()
      && same->second.weights.what.checksum == weights.what.checksum)
    return {};
  if (!versions_.empty() && versions_.rbegin()->first >= number)
    return fail(ec::stale,
                fmt::format("version {} was published, but version {} is the "
                            "newest already",
                            number, versions_.rbegin()->first));
  if (!is_whole(weights))
    return fail(ec::corrupt,
                fmt::format("the snapshot of version {} does not match its "
                            "manifest: {} bytes, checksum {:016x} expected",
                            number, weights.what.bytes,
                            weights.what.checksum));
  versions_[number].weights = std::move(weights);
  collect(now);
  return {};
}

result<manifest> publisher_core::newest() const {
  if (versions_.empty())
    return fail(ec::not_found, "no version was published yet");
  return versions_.rbegin()->second.weights.what;
}

result<snapshot> publisher_core::share(uint64_t number) const {
  auto i = versions_.find(number);
  if (i == versions_.end())
    return fail(ec::not_found,
                versions_.empty()
                  ? fmt::format("version {} is not kept: none was published "
                                "yet",
                                number)
                  : fmt::format("version {} is not kept, the newest is {}",
                                number, versions_.rbegin()->first));
  return i->second.weights;
}

result<publisher_core::ticket>
publisher_core::open(const owner& puller, uint64_t number, double now) {
  collect(now);
  auto found = share(number);
  if (!found)
    return tl::unexpected(found.error());
  auto id = splitmix(state_);
  pulls_[id] = {puller, number, now};
  collect(now);
  auto bytes = found->what.bytes;
  auto chunks = (bytes + limits_.chunk_bytes - 1) / limits_.chunk_bytes;
  return ticket{id, found->what, static_cast<uint32_t>(chunks)};
}

result<std::string_view>
publisher_core::chunk(uint64_t id, uint32_t index, double now) {
  auto i = pulls_.find(id);
  if (i == pulls_.end())
    return fail(ec::stale, "the pull was closed; open the newest version");
  i->second.used = now;
  auto& data = *versions_.at(i->second.version).weights.data;
  auto begin = index * limits_.chunk_bytes;
  if (begin >= data.size())
    return fail(ec::invalid_argument,
                fmt::format("chunk {} begins past the end of {} bytes", index,
                            data.size()));
  auto size = std::min<uint64_t>(limits_.chunk_bytes, data.size() - begin);
  return std::string_view{reinterpret_cast<const char*>(data.data()) + begin,
                          size};
}

void publisher_core::close(uint64_t id, double now) {
  pulls_.erase(id);
  collect(now);
}

result<void> publisher_core::pin(const owner& who, uint64_t number) {
  auto i = versions_.find(number);
  if (i == versions_.end())
    return tl::unexpected(share(number).error());
  i->second.pins.insert(who);
  return {};
}

void publisher_core::unpin(const owner& who, uint64_t number, double now) {
  if (auto i = versions_.find(number); i != versions_.end())
    i->second.pins.erase(who);
  collect(now);
}

void publisher_core::owner_down(const owner& gone, double now) {
  std::erase_if(pulls_, [&](auto& x) { return x.second.puller == gone; });
  for (auto& [number, one] : versions_)
    one.pins.erase(gone);
  collect(now);
}

void publisher_core::tick(double now) {
  collect(now);
}

bool publisher_core::is_pulled(uint64_t number) const {
  return std::any_of(pulls_.begin(), pulls_.end(),
                     [&](auto& x) { return x.second.version == number; });
}

void publisher_core::drop(uint64_t number) {
  std::erase_if(pulls_, [&](auto& x) { return x.second.version == number; });
  versions_.erase(number);
}

void publisher_core::collect(double now) {
  std::erase_if(pulls_, [&](auto& x) {
    return now - x.second.used > limits_.ticket_ttl_s;
  });
  if (versions_.empty())
    return;
  uint32_t pulled = 0;
  // From new to old: of those kept for pulls only, the newest stay.
  std::vector<uint64_t> unwanted;
  for (auto i = std::next(versions_.rbegin()); i != versions_.rend(); ++i)
    if (i->second.pins.empty()
        && (!is_pulled(i->first) || ++pulled > limits_.max_versions))
      unwanted.push_back(i->first);
  for (auto number : unwanted)
    drop(number);
}

} // namespace swage
