# packages/build.sh fills in the words between @, and puts the files beside this one.
Gem::Specification.new do |spec|
  spec.name = 'sqlite_cuckoo'
  spec.version = '@version@'
  spec.platform = '@platform@'
  spec.summary = 'Cuckoo and Bloom filters, a flash store and a hash ring as virtual tables of SQLite.'
  spec.authors = ['the sqlite-cuckoo authors']
  spec.license = 'MIT'
  spec.required_ruby_version = '>= 2.7'
  spec.required_rubygems_version = '>= @rubygems@'
  spec.files = Dir['lib/**/*.*', 'LICENSE', 'README.md', 'THIRD-PARTY.txt'].sort
end
