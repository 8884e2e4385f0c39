-- The suite: each part reports numbers that depend on all its work.
-- Globals from Go: seed, report, fold, attempt.

local state = seed
local function random(n)
  state = (state * 48271) % 2147483647
  return state % n + 1
end

-- Deep and tiny calls.
local function ackermann(m, n)
  if m == 0 then return n + 1 end
  if n == 0 then return ackermann(m - 1, 1) end
  return ackermann(m - 1, ackermann(m, n - 1))
end
local function tak(x, y, z)
  if y >= x then return z end
  return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))
end
report("calls", ackermann(2, 14), tak(12, 8, 3))

-- Arithmetic in loops, with calls of Go functions of the math library.
local function spectral(n)
  local u = {}
  for i = 1, n do u[i] = 1 end
  local function a(i, j) return 1 / ((i + j) * (i + j + 1) / 2 + i + 1) end
  for _ = 1, 3 do
    local v = {}
    for i = 1, n do
      local s = 0
      for j = 1, n do s = s + a(i - 1, j - 1) * u[j] end
      v[i] = math.sqrt(math.abs(s))
    end
    u = v
  end
  return string.format("%.6f", u[1] + u[n])
end
report("spectral", spectral(60))

-- Objects with inheritance by metatables.
local Account = {}
Account.__index = Account
function Account.new(class, balance) return setmetatable({ balance = balance }, class) end
function Account:deposit(v) self.balance = self.balance + v return self end
function Account:fee() return 0 end
function Account:total() return self.balance - self:fee() end
local Paid = setmetatable({}, { __index = Account })
Paid.__index = Paid
function Paid:fee() return 2 end
local total = 0
for i = 1, 4000 do
  local class = i % 3 == 0 and Paid or Account
  total = total + class:new(i):deposit(random(9)):deposit(1):total()
end
report("objects", total)

-- Allocation: a persistent leftist heap.
local function rank(h) return h and h.rank or 0 end
local function merge(a, b)
  if not a then return b end
  if not b then return a end
  if b.v < a.v then return merge(b, a) end
  local l, r = a.l, merge(a.r, b)
  if rank(l) < rank(r) then return { v = a.v, l = r, r = l, rank = rank(l) + 1 } end
  return { v = a.v, l = l, r = r, rank = rank(r) + 1 }
end
local heap
for _ = 1, 1500 do heap = merge(heap, { v = random(100000), rank = 1 }) end
local last, order = 0, 0
while heap do
  if heap.v >= last then order = order + 1 end
  last, heap = heap.v, merge(heap.l, heap.r)
end
report("heap", order, last)

-- Errors as control flow, through Lua's pcall and through Go.
local function thrower(depth, what)
  if depth == 0 then error(what, 0) end
  return thrower(depth - 1, what) + 1
end
local caught = 0
for i = 1, 500 do
  local ok, err = pcall(thrower, i % 12, { code = i })
  if not ok then caught = caught + err.code end
  ok, err = attempt(thrower, i % 7, "e" .. i)
  if not ok then caught = caught + #err end
end
local ok, value = attempt(function(a, b) return a * b end, 6, 7)
report("errors", caught, ok, value)

-- Go that calls Lua that calls Go.
local list = {}
for i = 1, 300 do list[i] = random(1000) end
local folded = 0
for _ = 1, 8 do
  folded = folded + fold(list, 0, function(acc, v)
    return acc + fold({ v, v + 1 }, 0, function(x, y) return math.max(x, y) end)
  end)
end
report("fold", folded)

-- Strings: patterns, and replacement by a function.
local words, text = {}, string.rep("pack my box with five dozen liquor jugs ", 12)
for w in string.gmatch(text, "%a+") do words[w] = (words[w] or 0) + #w end
local replaced, n = string.gsub(text, "(%a)(%a*)", function(a, b) return a:upper() .. b end)
report("strings", words.dozen, n, #replaced, replaced:sub(1, 20))

-- Sorting with a comparator in Lua.
local records = {}
for i = 1, 1200 do records[i] = { key = random(500), seq = i } end
table.sort(records, function(a, b)
  if a.key ~= b.key then return a.key < b.key end
  return a.seq < b.seq
end)
report("sort", records[1].seq, records[600].seq, records[1200].seq)

-- Coroutines: permutations from a recursive generator.
local function permutations(a, n)
  if n == 0 then coroutine.yield(a) return end
  for i = 1, n do
    a[n], a[i] = a[i], a[n]
    permutations(a, n - 1)
    a[n], a[i] = a[i], a[n]
  end
end
local count, weighted = 0, 0
for a in coroutine.wrap(function() permutations({ 1, 2, 3, 4, 5, 6 }, 6) end) do
  if a == nil then break end
  count = count + 1
  weighted = weighted + count * a[1]
end
report("permutations", count, weighted)
