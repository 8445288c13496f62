# What the Ruby programs of run.sh's scenario share: its names and values, and how they print a step.
$stdout.set_encoding('UTF-8')
PATH = File.join(ARGV[0], 'client.db')
TABLES = %w[users seen ids kv ring].freeze
ADA, BOB, ZOE = 'ada@example.org', 'bob@example.org', 'zoë@例え.jp'
DORA, EVE, FRED = 'dora@example.org', 'eve@example.org', 'fred@example.org'
GINA, HANA = 'gina@example.org', 'hana@example.org'
LARGE = 2**53 + 1
LARGEST = 2**63 - 1

def show(step, *values)
  puts "#{step}: #{values.map { |value| value.nil? ? 'NULL' : value }.join(' ')}"
end

# Returns the word if the block fails with a text that has `text` in it.
def refused(word, text)
  "no error, #{yield}"
rescue StandardError => e
  e.message.include?(text) ? word : e.message
end

def own(what, ok)
  puts "own: #{ok ? 'ok' : 'FAILED'} #{what}"
end
