-- Sends the requests of a scenario in turn; at the end prints what came of them as one line of JSON.
--
-- wrk ... -- PATHS [BODY METHOD]: PATHS is a file with one path per line. With BODY, the requests are
-- those of METHOD with it as body, its %d replaced by a number that no other request has.

local paths, made, position, number = {}, {}, 0, 0
local body

function init(arguments)
   for path in io.lines(arguments[1]) do
      paths[#paths + 1] = path
   end
   body = arguments[2]
   if body then
      wrk.method = arguments[3]
   else
      for each, path in ipairs(paths) do
         made[each] = wrk.format(nil, path)
      end
   end
end

function request()
   position = position % #paths + 1
   if not body then
      return made[position]
   end
   number = number + 1
   return wrk.format(nil, paths[position], nil, string.format(body, number))
end

function done(summary, latency, _)
   local errors = summary.errors
   io.write(string.format(
      '{"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "refused": %d, "broken": %d}\n',
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
      errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
